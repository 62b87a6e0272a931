// @ts-check
/** The three endpoints that answer with JSON. */

import { sha256, THUMBPRINT, VISITOR_UID } from "./keys.mjs";
import { required } from "./parameters.mjs";
import { Refused } from "./refusals.mjs";
import { readIdentityToken, sign, visitorEnd, visitorKey } from "./tokens.mjs";

const SOCIAL_LIFE = 120;

/**
 * @typedef {import("./service.mjs").Service} Service
 * @typedef {import("./http.mjs").Asked} Asked
 * @typedef {import("./http.mjs").Answer} Answer
 */

/** @param {Service} service @param {string} pid @param {Asked} asked @returns {Answer} */
export function configuration({ businesses, socketUri }, pid, { headers }) {
  const business = businesses.findOn(pid);
  const { livechat, service, ui } = business;
  const auth = { oauth_providers: businesses.enabledSocials(business) };
  const answer = ok({ socket_uri: socketUri, livechat, service, ui, auth });
  const tag = `"${sha256(answer.body)}"`;
  const cached = { ETag: tag, "Cache-Control": "public, max-age=0, s-maxage=60" };
  const known = (headers["if-none-match"] ?? "").split(",").map((name) => name.trim().replace(/^W\//, ""));
  if (known.includes(tag) || known.includes("*")) return { status: 304, headers: { ...OPEN, ...cached }, body: "" };
  return { ...answer, headers: { ...answer.headers, ...cached } };
}

/** @param {Service} service @param {string} pid @param {Asked} asked @returns {Answer} */
export function visitorToken({ businesses, clock, socketUri }, pid, { query }) {
  const business = businesses.findOn(pid);
  const uid = required(query, "uid", { form: VISITOR_UID });
  const iat = clock.now();
  const claims = { pid, uid, type: "visitor", iat, exp: visitorEnd(iat) };
  return secret({ socket_uri: socketUri, auth_token: sign(claims, visitorKey(business.secret, iat)) });
}

/** @param {Service} service @param {string} pid @param {Asked} asked @returns {Answer} */
export function memberToken({ businesses, clock, limits, socketUri }, pid, { query }) {
  const business = businesses.findOn(pid);
  const auth = required(query, "auth");
  const jkt = required(query, "jkt", { form: THUMBPRINT });
  const now = clock.now();
  const { uid, exp, name, email, data, jkt: bound } = readIdentityToken(auth, { business, now, most: limits.token });
  const social = uid.slice(0, uid.indexOf(":"));
  if (!businesses.keys(business, social)) throw new Refused("token_revoked", `${social} was switched off since.`);
  if (bound !== null && bound !== jkt) throw new Refused("token_key_mismatch", "auth is bound to another key than jkt.");
  const times = { iat: now, exp: Math.min(now + SOCIAL_LIFE, exp) };
  const claims = { pid, uid, type: "user", ...times, cnf: { jkt }, name, email, data };
  return secret({ socket_uri: socketUri, auth_token: sign(claims, business.secret) });
}

/** What pages anywhere may read. */
export const OPEN = { "Access-Control-Allow-Origin": "*" };

/** @param {unknown} data @returns {Answer} */
export function ok(data) {
  return { status: 200, headers: { ...OPEN, "Content-Type": "application/json" }, body: JSON.stringify({ data }) };
}

/** @param {Refused} refused @returns {Answer} */
export function failure({ code, message, status, retryAfter }) {
  /** @type {Record<string, string>} */
  const headers = { ...OPEN, "Content-Type": "application/json", "Cache-Control": "no-store" };
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (retryAfter !== undefined) headers["Access-Control-Expose-Headers"] = "Retry-After";
  return { status, headers, body: JSON.stringify({ data: null, error: { code, message } }) };
}

/** @param {unknown} data @returns {Answer} */
function secret(data) {
  const answer = ok(data);
  return { ...answer, headers: { ...answer.headers, "Cache-Control": "no-store" } };
}
