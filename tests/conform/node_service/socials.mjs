// @ts-check
/** Social providers: where a person is sent, and who came back (docs/protocol.md, "The callback"). */

import { createPublicKey, verify } from "node:crypto";

import { oneLine } from "./chat.mjs";
import { NotJson, object, parse } from "./json.mjs";
import { decode, sha256 } from "./keys.mjs";
import { Refused } from "./refusals.mjs";

/** All that the contract names; a uid that begins like one of them may be a social member's. */
export const SOCIALS = ["google", "facebook", "github", "gitlab", "discord", "apple", "x", "tiktok", "amazon"];

/** Those this service can log in with. */
export const IMPLEMENTED = ["google", "github"];

const PATIENCE_MS = 10_000;
const KEYS_KEPT_MS = 3_600_000;

/**
 * @typedef {{browser_url: string, server_url: string, issuers: string[]}} Place where a provider is
 * @typedef {{place: Place, keys: import("./businesses.mjs").Keys, redirectUri: string, nonce: string, verifier: string,
 *   now: number}} Flow one login under way
 * @typedef {{sub: string, name: string | null, email: string | null, avatar: string | null}} Person
 * @typedef {{authorize: string, scope: string, who: (flow: Flow, code: string) => Promise<Person>}} Social
 */

/** @type {Record<string, Social>} */
export const HOW = {
  google: { authorize: "/o/oauth2/v2/auth", scope: "openid email profile", who: google },
  github: { authorize: "/login/oauth/authorize", scope: "read:user user:email", who: github },
};

/** The consent page's address. @param {string} social @param {Flow} flow @param {string} state */
export function consent(social, flow, state) {
  const query = new URLSearchParams({
    client_id: flow.keys.client_id, redirect_uri: flow.redirectUri, response_type: "code", scope: HOW[social].scope,
    state, nonce: flow.nonce, code_challenge: sha256(flow.verifier), code_challenge_method: "S256",
  });
  return `${flow.place.browser_url}${HOW[social].authorize}?${query}`;
}

/** @param {Flow} flow @param {string} code @returns {Promise<Person>} */
async function google(flow, code) {
  const answer = await exchange(flow, "/token", code);
  const { sub } = await verified(text(answer.id_token), flow);
  const profile = await profileAt(flow, "/v1/userinfo", answer);
  if (text(profile.sub) !== sub) throw failed("the profile is somebody else's");
  const name = oneLine(any(profile.name)) ?? oneLine(any(profile.preferred_username));
  return person(sub, name, profile.email_verified === true ? profile.email : null, profile.picture);
}

/** @param {Flow} flow @param {string} code @returns {Promise<Person>} */
async function github(flow, code) {
  const answer = await exchange(flow, "/login/oauth/access_token", code);
  const profile = await profileAt(flow, "/user", answer);
  if (!Number.isInteger(profile.id) && typeof profile.id !== "string") throw failed("the profile has no id");
  const emails = await asked(flow, "/user/emails", answer, [403, 404]);
  const chosen = Array.isArray(emails) ? emails.map(object).find((email) => email?.primary && email.verified === true) : null;
  return person(String(profile.id), oneLine(any(profile.name)) ?? oneLine(any(profile.login)), chosen?.email, profile.avatar_url);
}

/** @param {Flow} flow @param {string} path @param {string} code */
async function exchange({ place, keys, redirectUri, verifier }, path, code) {
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier, ...keys };
  const body = new URLSearchParams(form);
  const answer = object(await json(`${place.server_url}${path}`, { method: "POST", body }));
  if (!answer || "error" in answer || !/^bearer$/i.test(text(answer.token_type ?? "bearer"))) throw failed("no token");
  text(answer.access_token);
  return answer;
}

/** @param {Flow} flow @param {string} path @param {Record<string, unknown>} answer */
async function profileAt(flow, path, answer) {
  const profile = object(await asked(flow, path, answer));
  if (!profile) throw failed("the profile is no object");
  return profile;
}

/** @param {Flow} flow @param {string} path @param {Record<string, unknown>} answer @param {number[]} [without] statuses */
function asked({ place }, path, answer, without) {
  const headers = { authorization: `Bearer ${answer.access_token}` };
  return json(`${place.server_url}${path}`, { headers }, without);
}

/** @param {string} url @param {RequestInit} asks @param {number[]} [without] statuses that mean that there is nothing */
async function json(url, asks, without = []) {
  const headers = { accept: "application/json", "user-agent": "node-service", ...asks.headers };
  const answer = await fetch(url, { ...asks, headers, redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (without.includes(answer.status)) return null;
  if (!answer.ok) throw failed(`it answered ${answer.status}`);
  return answer.json();
}

/** @type {Map<string, {keys: Record<string, unknown>[], until: number}>} */
const kept = new Map();

/** The claims of an id_token that holds. @param {string} token @param {Flow} flow */
async function verified(token, flow) {
  const segments = token.split(".");
  const [header, claims, signature] = segments.map(decode);
  if (segments.length !== 3 || !header || !claims || !signature) throw failed("the id_token is no JWT");
  const [{ alg, kid, crit }, said] = [header, claims].map((bytes) => object(parse(bytes)) ?? {});
  const jwk = alg === "RS256" && crit === undefined ? await published(flow.place, text(kid)) : null;
  if (!jwk) throw failed("the id_token is signed by no key of the provider's");
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const signed = Buffer.from(`${segments[0]}.${segments[1]}`);
  if (!verify("sha256", signed, key, signature)) throw failed("the signature of the id_token does not verify");
  const { iss, aud, azp, exp, iat, nonce } = said;
  const audience = Array.isArray(aud) ? aud : [aud];
  const isOurs = audience.includes(flow.keys.client_id) && (azp ?? flow.keys.client_id) === flow.keys.client_id;
  if (!flow.place.issuers.includes(text(iss)) || !isOurs || (audience.length > 1 && azp === undefined)) {
    throw failed("the id_token is another's");
  }
  if (!(Number(exp) > flow.now) || !(Number(iat) <= flow.now + 60) || nonce !== flow.nonce) {
    throw failed("the id_token is of another time or login");
  }
  return { sub: text(said.sub) };
}

/** @param {Place} place @param {string} kid */
async function published(place, kid) {
  const found = (/** @type {{keys: Record<string, unknown>[]} | undefined} */ of) => of?.keys.find((key) => key.kid === kid);
  const known = kept.get(place.server_url);
  const still = known && known.until > Date.now() ? found(known) : undefined;
  if (still) return still;
  const answer = object(await json(`${place.server_url}/oauth2/v3/certs`, {}));
  const keys = /** @type {Record<string, unknown>[]} */ (answer?.keys ?? []);
  kept.set(place.server_url, { keys, until: Date.now() + KEYS_KEPT_MS });
  return found({ keys });
}

/** @param {string} sub @param {string | null} name @param {unknown} email @param {unknown} avatar @returns {Person} */
function person(sub, name, email, avatar) {
  const short = (/** @type {unknown} */ value, /** @type {number} */ most) =>
    typeof value === "string" && value && value.length <= most ? value : null;
  const picture = short(avatar, 2048);
  return {
    sub,
    name: name && Array.from(name).slice(0, 255).join(""),
    email: short(email, 255),
    avatar: picture?.startsWith("https://") ? picture : null,
  };
}

/** @param {unknown} value */
function any(value) {
  return typeof value === "string" ? value : null;
}

/** @param {unknown} value */
function text(value) {
  if (typeof value !== "string" || !value) throw failed("a member of its answer is missing");
  return value;
}

/** @param {string} why */
function failed(why) {
  return new Refused("oauth_failed", `The social provider did not answer as it should: ${why}.`);
}

/** Any failure on the way is the same to the person. @param {unknown} error */
export function asFailure(error) {
  if (error instanceof Refused) return error;
  if (error instanceof TypeError || error instanceof DOMException || error instanceof SyntaxError || error instanceof NotJson) {
    return failed("it could not be asked");
  }
  throw error;
}
