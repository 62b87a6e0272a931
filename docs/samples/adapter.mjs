// @ts-check
/**
 * A sample adapter: `node adapter.mjs VERB`, JSON on standard input and output. It creates businesses over an
 * HTTP interface of the service's administration; replace the paths below with your own.
 *
 *     ADMIN_URL    the address of that interface, http://localhost:8800/lab
 *     ADMIN_TOKEN  its token, if it needs one
 */

import { text } from "node:stream/consumers";

const { ADMIN_URL = "http://localhost:8800/lab", ADMIN_TOKEN = "" } = process.env;

/** What the service and this adapter can do. The suite does not judge capabilities that are not listed here. */
const CAPABILITIES = ["businesses", "change", "clock", "member-records", "search", "calls"];

/** @typedef {Record<string, any>} Given */

/** The function for each verb, from its input to its output. @type {Record<string, (given: Given) => unknown>} */
const VERBS = {
  capabilities: () => CAPABILITIES,

  // `domains`: hosts with a port, to register. `socials`: the social logins to enable, each with `key_source` and, if
  // `own`, with `client_id` and `client_secret`. Other members come only with certain capabilities. Return id and secret.
  provision: (wanted) => ask("POST", "/providers", wanted),

  // `changes` has only the members that change.
  change: ({ id, ...changes }) => ask("PATCH", `/providers/${id}`, changes),

  remove: ({ id }) => ask("DELETE", `/providers/${id}`),

  // For the capability `clock`: move the service's time, and reset it.
  advance: ({ seconds }) => ask("POST", "/clock", { advance: seconds }),
  reset: () => ask("POST", "/reset"),

  // For the capability `member-records`: a business's records, each with uid, login, auth_provider, name and email.
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
