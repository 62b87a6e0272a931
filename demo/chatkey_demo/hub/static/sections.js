// The sections of "what is going on", from top to bottom. Each draws itself from what a shop's widget told last.

import { element } from "./dom.js";
import { tile } from "./tile.js";

/** @import { State, Told, Watch } from "./watch.js" */

/**
 * @typedef {{ name: string, title: string, draw: (watch: Watch) => Node[], stays?: boolean }} Section
 * @typedef {chatkey.Members} Members
 * @typedef {Record<string, string>} Meanings
 */

const SHOWN_EVENTS = 120;

/** @type {Section[]} */
export const sections = [
  { name: "who", title: "Identity", draw: who },
  { name: "connection", title: "Connection", draw: connection },
  { name: "proof", title: "Last proof", draw: proof },
  { name: "token", title: "Token in use", draw: token },
  { name: "call", title: "Call", draw: call },
  { name: "events", title: "Events", draw: events, stays: true },
];

// who

/** @param {Watch} watch */
function who({ debug, identity }) {
  if (!debug?.jkt) return [quiet("Python is starting in the shop's page.")];
  const isMember = identity?.identity === "member";
  const name = isMember ? (identity.name ?? identity.uid) : `Visitor ${debug.visitor_uid?.slice(2, 8)}`;
  const badge = element(
    "div",
    { class: "badge" },
    isMember ? element("span", { class: "face", "aria-hidden": "true" }, initials(name)) : tile(debug.jkt),
    element("p", { class: "name" }, element("bdi", {}, name), ...notes(debug.claims, isMember)),
    element("span", { class: isMember ? "pill member" : "pill" }, isMember ? "Member" : "Visitor"),
  );
  return [badge, facts([["uid", code(debug.uid ?? debug.visitor_uid)], ["jkt", keyed(debug.jkt)]])];
}

/**
 * How somebody signed in, and an e-mail if there is one.
 * @param {State["claims"]} claims @param {boolean} isMember
 */
function notes(claims, isMember) {
  if (!isMember) return [element("small", {}, "no sign-in")];
  const social = claims?.data?.auth_provider;
  const login = element("small", {}, social ? `signed in by ${social}` : "custom login");
  return claims?.email ? [login, element("small", {}, claims.email)] : [login];
}

/** @param {string} name */
function initials(name) {
  const [first = "?", ...others] = name.trim().split(/\s+/u).map((word) => [...word][0]);
  return `${first}${others.at(-1) ?? ""}`.toUpperCase();
}

// connection

/** @type {[chatkey.Debug["stage"], string, string][]} */
const STAGES = [
  ["loading", "token", "requesting a token"],
  ["opening", "socket", "opening the socket"],
  ["greeting", "nonce", "waiting for the server's nonce"],
  ["proving", "proof", "proving the key"],
  ["ready", "ready", "connected"],
];
/** @type {Meanings} */
const ELSEWHERE = { idle: "not connected", waiting: "lost; trying again soon", stopped: "stopped" };

/** @param {Watch} watch */
function connection({ debug }) {
  if (!debug?.stage) return [quiet(debug?.boot?.state === "failed" ? "Python could not be started." : "Not connected yet.")];
  const at = STAGES.findIndex(([stage]) => stage === debug.stage);
  const steps = STAGES.map(([, label], index) =>
    element("li", { class: index < at || debug.stage === "ready" ? "done" : index === at ? "now" : null }, label),
  );
  const said = STAGES[at]?.[2] ?? ELSEWHERE[debug.stage];
  return [
    element("ol", { class: "steps" }, ...steps),
    element("p", { class: "quiet" }, [capital(said), bootOf(debug.boot)].filter(Boolean).join(" · ")),
  ];
}

/** @param {chatkey.Debug["boot"]} boot */
function bootOf({ from, milliseconds }) {
  if (!milliseconds) return "";
  return `Python started in ${milliseconds} ms from its ${from}`;
}

// token

/** @type {Meanings} */
const CLAIMS = {
  pid: "which business",
  uid: "who",
  type: "kind of token",
  "cnf.jkt": "the key it is bound to",
  iat: "issued",
  exp: "ends",
};

/** @param {Watch} watch */
function token({ debug }) {
  const claims = debug?.claims;
  if (!claims) return [quiet("None yet.")];
  const life = element(
    "p",
    { class: "life" },
    element("progress", { max: claims.exp - (claims.iat ?? claims.exp - 60), "data-until": claims.exp, "aria-label": "Time left" }),
    element("span", { "data-until": claims.exp }),
  );
  const kept = debug.cached_token ? "A token is cached in localStorage and outlives the page." : null;
  return [life, claimsTable(claims, debug.jkt), ...(kept ? [quiet(kept)] : [])];
}

// proof

/** @type {Meanings} */
const PROOF = {
  nonce: "of this connection, used once",
  ath: "hash of the token",
  jti: "this proof",
  iat: "made",
  htm: "method",
  htu: "address of the socket",
  typ: "kind",
  alg: "signature",
  "jwk.x": "the public key",
  "jwk.y": "the public key, second half",
};

/** @param {Watch} watch */
function proof({ debug }) {
  if (!debug?.proof) return [quiet("None yet.")];
  const { header, claims } = debug.proof;
  return [
    element("h4", {}, "Claims"),
    claimsTable(claims, null, PROOF),
    element("h4", {}, "Header"),
    claimsTable(header, null, PROOF),
  ];
}

// call

/** @type {Meanings} */
const CALL_PROOF = { ...PROOF, fingerprint: "this browser's certificate" };

/** @param {Watch} watch */
function call({ debug }) {
  const shown = debug?.call;
  if (!shown) return [quiet("No call yet. Call from the shop's chat, and answer in the agent panel.")];
  const state = facts([["state", code(shown.state)], ["sound", code(shown.sound || "none yet")]]);
  if (!shown.proof) return [state];
  const { nonce, peer_fingerprint: certificate, ...claims } = shown.proof.claims;
  return [
    state,
    element("h4", {}, "Offer of the agent's browser"),
    facts([["fingerprint", code(certificate), "the agent's certificate"], ["nonce", code(nonce), "to be signed once"]]),
    element("h4", {}, shown.isVerified ? "Proof, verified by the service" : "Proof, not verified yet"),
    claimsTable(claims, null, CALL_PROOF),
    claimsTable(shown.proof.header, null, CALL_PROOF),
  ];
}

// events

/** @param {Watch} watch */
function events({ events: all }) {
  if (!all.length) return [quiet("None yet.")];
  const rows = all.slice(-SHOWN_EVENTS).reverse().map(eventRow);
  return [element("ol", { class: "log", "aria-label": "Events, newest first" }, ...rows)];
}

/** @param {Told} told */
function eventRow({ at, name, detail }) {
  const family = name.includes(":") ? name.split(":")[0] : name;
  return element(
    "li",
    { "data-family": family },
    element("time", {}, clock(at)),
    element("b", {}, name),
    element("span", { title: summary(detail, 400) }, summary(detail, 60)),
  );
}

/** @param {object} detail @param {number} most */
function summary(detail, most) {
  const parts = Object.entries(detail ?? {})
    .filter(([, value]) => value !== null && (typeof value !== "object" || Array.isArray(value)))
    .map(([key, value]) => `${key} ${value}`);
  const text = parts.join(" · ");
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// pieces

/** @param {Members} claims @param {string | null | undefined} jkt @param {Meanings} [meanings] */
function claimsTable(claims, jkt, meanings = CLAIMS) {
  return facts(sorted(claims, meanings).map(([name, value]) => [name, valueOf(name, value, jkt), meanings[name]]));
}

/** @param {string} name @param {unknown} value @param {string | null | undefined} jkt */
function valueOf(name, value, jkt) {
  if (name === "cnf.jkt" && jkt && value === jkt) return keyed(jkt);
  if (name === "iat" || name === "exp") return element("span", { title: String(value) }, clock(Number(value)));
  return code(value);
}

/**
 * Nested members by their dotted names; those with a meaning first.
 * @param {Members} claims @param {Meanings} meanings
 */
function sorted(claims, meanings) {
  const order = Object.keys(meanings);
  const place = (/** @type {[string, unknown]} */ [name]) => (order.includes(name) ? order.indexOf(name) : order.length);
  return flat(claims).sort((one, other) => place(one) - place(other));
}

/** @param {Members} members @param {string} [prefix] @returns {[string, unknown][]} */
function flat(members, prefix = "") {
  return Object.entries(members).flatMap(([name, value]) =>
    value !== null && typeof value === "object" ? flat(/** @type {Members} */ (value), `${prefix}${name}.`) : [[prefix + name, value]],
  );
}

/** @param {[string, Node, string?][]} rows */
function facts(rows) {
  const lines = rows.flatMap(([name, value, meaning]) => [
    element("dt", { title: meaning }, ...breakable(name)),
    element("dd", {}, value, meaning ? element("small", {}, meaning) : null),
  ]);
  return element("dl", {}, ...lines);
}

/**
 * A dotted name that may break after its dots.
 * @param {string} name
 */
function breakable(name) {
  return name.split(/(?<=\.)/u).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));
}

/** @param {string} jkt */
function keyed(jkt) {
  return element("span", { class: "keyed" }, tile(jkt), code(jkt));
}

/** @param {unknown} value */
function code(value) {
  return element("code", { title: String(value) }, String(value));
}

/** @param {string} text */
function quiet(text) {
  return element("p", { class: "quiet" }, text);
}

/** @param {string} text */
function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** @param {number} seconds */
function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}
