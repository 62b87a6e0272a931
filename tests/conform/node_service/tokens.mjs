// @ts-check
/** Tokens: made, and read in the order of docs/protocol.md, "How a token is read". */

import { NotJson, isInteger, length, object, parse } from "./json.mjs";
import { THUMBPRINT, VISITOR_UID, decode, mac, same } from "./keys.mjs";
import { Refused } from "./refusals.mjs";
import { SOCIALS } from "./socials.mjs";

const FOREVER = 9_999_999_999;
const LEEWAY = 60;
const UNBOUND = "cnf.jkt is missing or no thumbprint.";
const LIVES = { visitor: 120, custom: 7200, social: 120, identity: 86_400 };

/**
 * @typedef {import("./businesses.mjs").Business} Business
 * @typedef {"visitor" | "custom" | "social" | "identity"} Login
 * @typedef {object} Claims what a token says, once all of it holds
 * @property {string} pid
 * @property {string} uid
 * @property {number} exp
 * @property {string | null} name
 * @property {string | null} email
 * @property {Record<string, unknown> | null} data
 * @property {string | null} jkt the key it is bound to; null for an identity token that is bound to none
 * @property {Login} login
 */

/** The key that signs a visitor's token of this time. @param {string} secret @param {number} iat */
export function visitorKey(secret, iat) {
  return mac(secret, minute(iat));
}

/** @param {number} time */
export function minute(time) {
  return new Date(time * 1000).toISOString().slice(11, 16);
}

/** The end of the minute after the one of `iat`. @param {number} iat */
export function visitorEnd(iat) {
  return (Math.floor(iat / 60) + 2) * 60;
}

/** @param {object} claims @param {string | Uint8Array} key */
export function sign(claims, key) {
  const text = [{ alg: "HS256", typ: "JWT" }, claims].map(encoded).join(".");
  return `${text}.${mac(key, text).toString("base64url")}`;
}

/**
 * Read what a `connect` or a `refresh` shows.
 * @param {string} token
 * @param {{find: (pid: string) => Business, now: number, most: number}} by `find` refuses a provider that there is not
 * @returns {Claims}
 */
export function readSocketToken(token, { find, now, most }) {
  const form = readForm(token, most);
  const { pid, type, iat } = unverified(form.payload);
  const business = find(pid);
  const secrets = business.secrets(now);
  checkMac(form, type === "visitor" ? secrets.map((secret) => visitorKey(secret, iat)) : secrets);
  return judged(form.payload, business.id, now, type === "visitor" ? "visitor" : "user");
}

/**
 * Read the `auth` of the member token endpoint.
 * @param {string} token @param {{business: Business, now: number, most: number}} by @returns {Claims}
 */
export function readIdentityToken(token, { business, now, most }) {
  const form = readForm(token, most);
  checkMac(form, business.secrets(now));
  return judged(form.payload, business.id, now, "identity");
}

/**
 * @typedef {{signed: string, payload: Uint8Array, mac: Uint8Array}} Form
 * @param {string} token @param {number} most @returns {Form}
 */
function readForm(token, most) {
  if (token.length > most) throw new Refused("token_too_large", `A token has at most ${most} characters.`);
  const segments = token.split(".");
  const [header, payload, tag] = segments.map(decode);
  if (segments.length !== 3 || !header?.length || !payload?.length || !tag) {
    throw new Refused("token_malformed", "A token is three segments of base64url.");
  }
  const members = strict(header, {});
  if (members.alg !== "HS256") throw new Refused("token_alg", "alg has to be HS256.");
  const foreign = ["crit", "b64", "zip", "enc"].find((name) => name in members);
  if (foreign) throw new Refused("token_header", `${foreign} in the header is not understood.`);
  const typ = members.typ ?? "JWT";
  if (typeof typ !== "string" || !/^(application\/)?jwt$/i.test(typ)) {
    throw new Refused("token_header", "typ is not JWT.");
  }
  return { signed: `${segments[0]}.${segments[1]}`, payload, mac: tag };
}

/** What has to be known before the MAC, since it says which key that has. @param {Uint8Array} payload */
function unverified(payload) {
  const { pid, type, iat } = strict(payload, { repeated: true });
  if (typeof pid !== "string" || !pid) throw new Refused("token_claims", "pid has to be a text.");
  if (typeof type !== "string") throw new Refused("token_claims", "type has to be a text.");
  if (!isInteger(iat, 0, FOREVER)) throw new Refused("token_claims", "iat has to be an integer in seconds.");
  return { pid, type, iat };
}

/** @param {Form} form @param {(string | Uint8Array)[]} keys */
function checkMac(form, keys) {
  if (!keys.some((key) => same(mac(key, form.signed), form.mac))) {
    throw new Refused("token_signature", "The MAC does not verify with the provider's secret_key.");
  }
}

/** @param {Uint8Array} bytes @param {{repeated?: boolean}} lenient */
function strict(bytes, lenient) {
  try {
    const members = object(parse(bytes, lenient));
    if (members) return members;
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new Refused("token_malformed", `The token's JSON is not strict: ${error.message}.`);
  }
  throw new Refused("token_malformed", "Header and payload are JSON objects.");
}

/**
 * Steps 4 to 8.
 * @param {Uint8Array} payload @param {string} pid @param {number} now @param {"visitor" | "user" | "identity"} kind
 * @returns {Claims}
 */
function judged(payload, pid, now, kind) {
  const claims = typed(strict(payload, {}));
  if (claims.type !== kind) throw new Refused("token_type", `type has to be ${kind}.`);
  if (claims.pid !== pid) throw new Refused("token_provider", "pid is another provider's.");
  const { uid } = claims;
  if (!uid || length(uid) > 255 || /[\u0000-\u001f\u007f]/.test(uid)) {
    throw new Refused("token_claims", "uid has 1 to 255 characters, and no control characters.");
  }
  const login = kind === "user" ? loginOf(claims) : kind;
  checkTimes(claims, now, login);
  return { ...claims, login, jkt: bound(claims, login) };
}

/**
 * Step 5.
 * @typedef {{pid: string, uid: string, type: string, iat: number, exp: number, nbf: number | null, name: string | null,
 *   email: string | null, data: Record<string, unknown> | null, cnf: unknown}} Typed
 * @param {Record<string, unknown>} claims @returns {Typed}
 */
function typed(claims) {
  const { pid, uid, type, iat, exp, nbf = null, name = null, email = null, avatar = null, data = null } = claims;
  const { cnf = null } = claims;
  const time = (/** @type {unknown} */ value) => isInteger(value, 0, FOREVER);
  const text = (/** @type {unknown} */ value, /** @type {number} */ most) =>
    value === null || (typeof value === "string" && length(value) <= most);
  const inner = data === null ? {} : object(data);
  const right = {
    pid: typeof pid === "string",
    uid: typeof uid === "string",
    type: typeof type === "string",
    iat: time(iat),
    exp: time(exp),
    nbf: nbf === null || time(nbf),
    name: text(name, 255),
    email: text(email, 255),
    avatar: text(avatar, 2048),
    data: inner !== null && text(inner.auth_provider ?? null, Infinity) && text(inner.avatar ?? null, 2048),
  };
  const wrong = Object.entries(right).find(([, is]) => !is);
  if (wrong) throw new Refused("token_claims", `${wrong[0]} is missing or not of its type.`);
  if (cnf !== null && typeof object(cnf)?.jkt !== "string") throw new Refused("proof_binding_missing", UNBOUND);
  return /** @type {Typed} */ ({ pid, uid, type, iat, exp, nbf, name, email, data, cnf });
}

/** @param {{uid: string, data: Record<string, unknown> | null}} claims @returns {Login} */
function loginOf({ uid, data }) {
  return socialOf(uid) && socialOf(uid) === data?.auth_provider ? "social" : "custom";
}

/** The social provider whose name `uid` begins with, before a colon and a subject. @param {string} uid */
function socialOf(uid) {
  const [social, ...rest] = uid.split(":");
  return SOCIALS.includes(social) && rest.join(":") ? social : null;
}

/** @param {{iat: number, exp: number, nbf: number | null}} times @param {number} now @param {Login} login */
function checkTimes({ iat, exp, nbf }, now, login) {
  if (exp <= now) throw new Refused("token_expired", "exp has passed.");
  const ahead = Math.max(iat, nbf ?? 0) > now + LEEWAY;
  if (ahead || (login === "visitor" && Math.floor(iat / 60) > Math.floor(now / 60))) {
    throw new Refused("token_not_yet_valid", "iat or nbf lies ahead.");
  }
  if (exp <= iat || exp - iat > LIVES[login]) {
    throw new Refused("token_claims", `exp lies after iat, by ${LIVES[login]} seconds at most.`);
  }
}

/** @param {{uid: string, cnf: unknown}} claims @param {Login} login @returns {string | null} */
function bound({ uid, cnf }, login) {
  if (login === "visitor") {
    if (!VISITOR_UID.test(uid)) throw new Refused("token_claims", "uid is not v_ and a thumbprint.");
    return uid.slice(2);
  }
  if (login === "identity") {
    if (!socialOf(uid)) throw new Refused("token_claims", "uid is not a social provider's name, a colon and a subject.");
    if (cnf === null) return null;
  }
  const jkt = object(cnf)?.jkt;
  if (typeof jkt === "string" && THUMBPRINT.test(jkt)) return jkt;
  throw new Refused("proof_binding_missing", UNBOUND);
}

/** @param {unknown} value */
function encoded(value) {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
