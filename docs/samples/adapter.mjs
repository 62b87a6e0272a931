// @ts-check
/**
 * A sample adapter: `node adapter.mjs VERB`, JSON on standard input and output. It makes businesses over the HTTP
 * interface of the service's own administration; put yours in place of the paths below.
 *
 *     ADMIN_URL    where that is, http://localhost:8800/lab
 *     ADMIN_TOKEN  what it asks for, if it does
 */

import { text } from "node:stream/consumers";

const { ADMIN_URL = "http://localhost:8800/lab", ADMIN_TOKEN = "" } = process.env;

/** What the service can do, and this adapter with it: what is not named here is not judged, and not missed. */
const CAPABILITIES = ["businesses", "change", "clock", "member-records", "search", "calls"];

/** @typedef {Record<string, any>} Given */

/** What each verb is given, and what it does. @type {Record<string, (given: Given) => unknown>} */
const VERBS = {
  capabilities: () => CAPABILITIES,

  // `domains`: hosts with a port, to register. `socials`: those to switch on, each with `key_source` and, if `own`, with
  // `client_id` and `client_secret`. Whatever else is there only if a capability asks for it. To answer: id and secret.
  provision: (wanted) => ask("POST", "/providers", wanted),

  // The members that change, beside the id.
  change: ({ id, ...changes }) => ask("PATCH", `/providers/${id}`, changes),

  remove: ({ id }) => ask("DELETE", `/providers/${id}`),

  // With the capability `clock`: move the service's time, and put it back.
  advance: ({ seconds }) => ask("POST", "/clock", { advance: seconds }),
  reset: () => ask("POST", "/reset"),

  // With `member-records`: those of a business, each with uid, login, auth_provider, name and email.
  member: ({ id }) => ask("GET", `/members?provider=${id}`),
};

/** @param {string} method @param {string} path @param {object} [body] @returns {Promise<unknown>} */
async function ask(method, path, body) {
  const answer = await fetch(ADMIN_URL + path, {
    method,
    headers: {
      ...(body ? { "Content-Type": "application/json" } : {}),
      ...(ADMIN_TOKEN ? { Authorization: `Bearer ${ADMIN_TOKEN}` } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}.`);
  if (answer.status === 204) return null;
  const { data } = /** @type {{data: unknown}} */ (await answer.json());
  return data;
}

try {
  const verb = process.argv[2];
  const act = VERBS[verb];
  if (!act) throw new Error(`This adapter has no verb ${verb}.`);
  const given = await text(process.stdin);
  const data = (await act(given ? JSON.parse(given) : {})) ?? null;
  console.log(JSON.stringify({ data }));
} catch (error) {
  console.log(JSON.stringify({ error: { message: error instanceof Error ? error.message : String(error) } }));
  process.exitCode = 1;
}
