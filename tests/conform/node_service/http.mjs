// @ts-check
/** Which path is what, and what every answer has. */

import { configuration, failure, memberToken, visitorToken } from "./endpoints.mjs";
import { failurePage } from "./login.mjs";
import { parameters } from "./parameters.mjs";
import { Refused } from "./refusals.mjs";

const ID = /^[A-Za-z0-9_-]{1,64}$/;
const FORM = "application/x-www-form-urlencoded";
const MOST_BODY = 65_536;
const READ = "GET, HEAD, OPTIONS";

/**
 * @typedef {import("node:http").IncomingMessage} Request
 * @typedef {import("./service.mjs").Service} Service
 * @typedef {{method: string, headers: import("node:http").IncomingHttpHeaders, query: URLSearchParams}} Asked
 * @typedef {{status: number, headers: Record<string, string>, body: string, refused?: Refused}} Answer
 * @typedef {{kind: "configuration" | "token" | "oauth", allow: string, answer: (service: Service, asked: Asked) =>
 *   Answer | Promise<Answer>}} Route
 */

/** @typedef {[pattern: RegExp, kind: Route["kind"], answer: (service: Service, found: string[], asked: Asked) => Answer | Promise<Answer>]} Row */

/** @type {Row[]} */
const ROUTES = [
  [/^\/v1\/public\/provider\/([^/]+)$/, "configuration", (service, [id], asked) => configuration(service, known(id), asked)],
  [/^\/v1\/public\/provider\/([^/]+)\/token$/, "token", (service, [id], asked) => visitorToken(service, known(id), asked)],
  [/^\/v1\/public\/provider\/([^/]+)\/member\/token$/, "token",
    (service, [id], asked) => memberToken(service, known(id), asked)],
  [/^\/v1\/public\/provider\/([^/]+)\/oauth\/([^/]+)$/, "oauth",
    (service, [id, social], asked) => service.logins.start(id, social, asked)],
  [/^\/v1\/public\/oauth\/([^/]+)\/callback$/, "oauth", (service, [social], asked) => service.logins.callback(social, asked)],
];

/** @param {string} path @returns {Route | null} */
function route(path) {
  if (/%|\/\/|\/$|\/\.{1,2}(\/|$)/.test(path)) return null;
  for (const [pattern, kind, answer] of ROUTES) {
    const found = pattern.exec(path);
    const allow = path.endsWith("/callback") ? `${READ}, POST` : READ;
    if (found) return { kind, allow, answer: (service, asked) => answer(service, found.slice(1), asked) };
  }
  return null;
}

/** Answer any request but those of sockets and lab. @param {Service} service @param {Request} request @returns {Promise<Answer>} */
export async function answer(service, request) {
  try {
    return await judged(service, request);
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error);
    const refused = error instanceof Refused ? error : new Refused("internal", "A mistake in the service.");
    return { ...failure(refused), refused };
  }
}

/** @param {Service} service @param {Request} request @returns {Promise<Answer>} */
async function judged(service, request) {
  const { path, query } = target(service, request);
  const { method = "GET", headers } = request;
  if (path === "/v1/socket") return withoutUpgrade();
  const found = route(path);
  if (!found) throw new Refused("not_found", "There is nothing at this address.");
  if (method === "OPTIONS") return { status: 204, headers: preflight(found), body: "" };
  if (!found.allow.split(", ").includes(method)) return notAllowed(found.allow);
  if (found.kind === "configuration") return found.answer(service, { method, headers, query: new URLSearchParams() });
  try {
    const wait = service.rates[found.kind].take(request.socket.remoteAddress ?? "");
    if (wait) throw new Refused("rate_limited", "Too much in too short a time.", wait);
    const form = method === "POST" ? [await readForm(request)] : [];
    return await found.answer(service, { method, headers, query: parameters([query, ...form]) });
  } catch (error) {
    if (found.kind === "oauth" && error instanceof Refused) return failurePage(error);
    throw error;
  }
}

/** Path and query below the service's base address. @param {Service} service @param {Request} request */
export function target(service, request) {
  const [, path, query] = /^(?:https?:\/\/[^/?]*)?([^?]*)\??(.*)$/s.exec(request.url ?? "/") ?? ["", "/", ""];
  const base = new URL(service.settings.base_url).pathname.replace(/\/$/, "");
  return { path: path.startsWith(`${base}/`) ? path.slice(base.length) : "/", query };
}

/** @param {Request} request */
async function readForm(request) {
  const type = (request.headers["content-type"] ?? "").split(";")[0].trim().toLowerCase();
  if (type !== FORM) throw new Refused("media_type_unsupported", `A body has to be ${FORM}.`);
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > MOST_BODY) throw new Refused("too_large", `A body has at most ${MOST_BODY} bytes.`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** @param {string} id */
function known(id) {
  if (!ID.test(id)) throw new Refused("provider_unknown", "No provider has this id.");
  return id;
}

/** @param {Route} found @returns {Record<string, string>} */
function preflight({ kind, allow }) {
  const open = {
    "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": READ, "Access-Control-Allow-Headers": "*",
    "Access-Control-Max-Age": "86400",
  };
  return kind !== "oauth" ? { Allow: allow, ...open } : { Allow: allow };
}

/** @param {string} allow @returns {Answer} */
function notAllowed(allow) {
  const answer = failure(new Refused("method_not_allowed", `This address takes ${allow}.`));
  return { ...answer, headers: { ...answer.headers, Allow: allow } };
}

/** @returns {Answer} */
function withoutUpgrade() {
  const answer = failure(new Refused("method_not_allowed", "Here is a WebSocket, and nothing else."));
  return { ...answer, status: 426, headers: { ...answer.headers, Upgrade: "websocket" } };
}

/** Write an answer. @param {Request} request @param {import("node:http").ServerResponse} response @param {Answer} answer */
export function respond(request, response, { status, headers, body, refused }) {
  const wait = refused?.retryAfter;
  response.writeHead(status, {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    ...headers,
    ...(wait === undefined ? {} : { "Retry-After": String(wait) }),
    ...(status === 204 || status === 304 ? {} : { "Content-Length": String(Buffer.byteLength(body)) }),
  });
  response.end(request.method === "HEAD" ? "" : body);
}
