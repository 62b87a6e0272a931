// @ts-check
/** The lab profile lab.v1 over HTTP: what a test may arrange here. */

import { randomUUID } from "node:crypto";

import { change } from "./businesses.mjs";
import { Page } from "./calls.mjs";
import { failure } from "./endpoints.mjs";
import { Refused } from "./refusals.mjs";
import { IMPLEMENTED } from "./socials.mjs";

/** What this lab can do, and the service behind it. */
export const CAPABILITIES = [
  "clock", ...IMPLEMENTED.map((name) => `social:${name}`), "own-keys", "member-records", "businesses", "change", "rate-limits",
  "search", "calls", "agent",
];

/**
 * @typedef {import("./service.mjs").Service} Service
 * @typedef {import("./http.mjs").Answer} Answer
 * @typedef {(service: Service, body: Record<string, any>, rest: string, query: URLSearchParams) => unknown} Deed
 */

/** @type {Record<string, Deed>} */
const DEEDS = {
  "GET ": () => ({ profile: "lab.v1", capabilities: CAPABILITIES }),
  "GET /clock": ({ clock }) => ({ now: clock.precise() }),
  "POST /clock": ({ clock }, { advance, alarms }) => {
    if (typeof advance !== "number" || advance < 0) throw new Refused("parameter_invalid", "advance is a number of seconds.");
    clock.advance(advance, alarms !== false);
    return { now: clock.precise() };
  },
  "POST /providers": ({ businesses }, body) => {
    const { id, secret: secret_key } = businesses.add(body);
    return { id, secret_key };
  },
  "PATCH /providers/": ({ businesses }, body, id) => change(businesses.find(id), body),
  "DELETE /providers/": ({ businesses }, _, id) => businesses.known.delete(businesses.find(id).id),
  "POST /applications": ({ businesses }, { social, ...keys }) => {
    businesses.applications[social] = /** @type {import("./businesses.mjs").Keys} */ (keys);
  },
  "GET /members": ({ businesses }, _, __, query) => [...businesses.find(query.get("provider") ?? "").members.values()],
  "POST /agent": actAsAgent,
  "POST /reset": (service) => service.reset(),
};

/**
 * @param {Service} service @param {import("node:http").IncomingMessage} request @param {string} path behind `/lab`
 * @param {string} query @returns {Promise<Answer>}
 */
export async function answerLab(service, request, path, query) {
  try {
    checkGuest(service, request);
    const [, place, rest = ""] = /^(\/providers\/|.*$)(.*)$/s.exec(path) ?? [];
    const deed = DEEDS[`${request.method} ${place}`];
    if (!deed) throw new Refused("not_found", "The lab has nothing at this address.");
    const data = deed(service, await body(request), rest, new URLSearchParams(query));
    return { status: 200, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ data: data ?? null }) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return failure(error);
  }
}

/** Act in a conversation or in its call, and tell what was said in it, and to the page. @type {Deed} */
function actAsAgent({ conversations, clock, pages }, { do: deed, id, uid, body, page: name, ...more }) {
  const own = ["visitor", "custom", "social"].map((login) => conversations.get(`${id} ${login} ${uid}`));
  const conversation = own.find((known) => known !== undefined);
  if (!conversation) throw new Refused("not_found", "There is no such conversation.");
  const seq = conversation.messages.length + 1;
  const message = { id: randomUUID(), seq, sender: /** @type {const} */ ("agent"), name: "Agent", body, sent_at: clock.now() };
  if (deed === "answer") conversation.store(message);
  if (deed === "end") conversation.turn("end");
  const page = pages.get(name) ?? new Page();
  if (name) pages.set(name, page);
  return { messages: conversation.messages, refused: refusal(page, conversation, deed, more), signals: page.signals };
}

/** Act with a page of the agent; the code where that is refused. @param {Page} page @param {import("./chat.mjs").Conversation} conversation @param {string} deed @param {Record<string, any>} more */
function refusal(page, conversation, deed, { sdp, nonce, candidate }) {
  try {
    if (deed === "accept") page.accept(conversation);
    if (deed === "offer") page.offer({ sdp, nonce });
    if (deed === "candidate") page.candidate(candidate);
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return error.code;
  }
}

/** Whoever shows the token; without one, programs of this machine. @param {Service} service @param {import("node:http").IncomingMessage} request */
function checkGuest({ settings }, { headers, socket }) {
  const token = settings.lab_token;
  const isHome = /^(::1|(::ffff:)?127\..*)$/.test(socket.remoteAddress ?? "") && headers.origin === undefined;
  if (token ? headers.authorization !== `Bearer ${token}` : !isHome) {
    throw new Refused("origin_not_allowed", "The lab is for whoever shows its token, or for programs of this machine.");
  }
}

/** @param {import("node:http").IncomingMessage} request @returns {Promise<Record<string, any>>} */
async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    throw new Refused("parameter_invalid", "The body is no JSON.");
  }
}
