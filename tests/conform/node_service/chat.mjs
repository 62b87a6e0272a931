// @ts-check
/** Conversations: messages, history, search and calls (docs/socket.md, "Chat"). */

import { randomUUID } from "node:crypto";

import { length } from "./json.mjs";
import { Refused } from "./refusals.mjs";

const PAGE = 50;

/**
 * @typedef {{id: string, seq: number, sender: "customer" | "agent", name: string | null, body: string,
 *   sent_at: number}} Message
 * @typedef {{call_id: string, state: "ringing" | "active" | "ended", code?: string}} Call
 * @typedef {import("./connection.mjs").Connection} Connection
 */

/** What one identity says and hears, on however many sockets. */
export class Conversation {
  /** @type {Message[]} */
  messages = [];
  /** @type {Map<string, Message>} */
  byId = new Map();
  /** @type {Call | null} */
  call = null;
  /** The two sides of the call, while there is one. @type {import("./calls.mjs").Line | null} */
  line = null;
  /** @type {Set<Connection>} */
  sockets = new Set();

  /** Tell everybody else. @param {object} frame @param {Connection} [but] */
  tell(frame, but) {
    for (const socket of this.sockets) if (socket !== but) socket.send(frame);
  }

  /** @param {Message} message @param {Connection} [from] */
  store(message, from) {
    this.messages.push(message);
    if (message.sender === "customer") this.byId.set(message.id, message);
    this.tell({ type: "message", ...message }, from);
  }

  /** @param {number | null} before @param {number} limit */
  page(before, limit) {
    const older = before === null ? this.messages : this.messages.slice(0, before - 1);
    return { messages: older.slice(-limit), more: older.length > limit };
  }

  /** @param {string} query */
  search(query) {
    const wanted = folded(query);
    return this.messages.filter(({ body }) => folded(body).includes(wanted)).slice(-PAGE);
  }

  /**
   * Start or end a call; the change is told to the others.
   * @param {"start" | "end"} action @param {Connection} [from] @param {string} [code] why it ends, where nobody hung up
   */
  turn(action, from, code) {
    const on = this.call?.state === "ended" ? null : this.call;
    if (action === "end" && !on) throw new Refused("call_unknown", "There is no call to end.");
    const call = action === "end" ? { ...on, state: "ended", ...(code ? { code } : {}) } : on ?? { call_id: randomUUID(), state: "ringing" };
    this.call = /** @type {Call} */ (call);
    this.tell({ type: "call", ...call }, from);
    if (action === "end") this.close();
    return this.call;
  }

  /** An agent has accepted the call. */
  activate() {
    if (this.call?.state !== "ringing") return;
    this.call = { ...this.call, state: "active" };
    this.line?.activate();
    this.tell({ type: "call", ...this.call });
  }

  close() {
    this.line?.close();
    this.line = null;
  }

  /** A socket is gone; with the last one a call that rings is over. @param {Connection} socket */
  leave(socket) {
    this.sockets.delete(socket);
    this.line?.leave(socket);
    if (!this.sockets.size && this.call) this.abandon(this.call);
  }

  /** @param {Call} call */
  abandon(call) {
    if (call.state === "active") return;
    this.call = { ...call, state: "ended" };
    this.close();
  }
}

/** Refuse a text that cannot be written or looked for. @param {string} text @param {number} most @param {string} what */
export function checkText(text, most, what) {
  if (/^[\p{White_Space}\u001c-\u001f]*$/u.test(text)) throw new Refused("parameter_invalid", `The ${what} is empty.`);
  if (text.includes("\0")) throw new Refused("parameter_invalid", `The ${what} holds a NUL character.`);
  if (length(text) > most) throw new Refused("too_large", `The ${what} has more than ${most} characters.`);
}

/** One line of text, or null where nothing is left. @param {string | null | undefined} name */
export function oneLine(name) {
  const line = (name ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");
  return line.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "") || null;
}

/** In NFC and case-folded: the code points one by one, for letter case in JavaScript looks at neighbours. @param {string} text */
function folded(text) {
  const fold = (/** @type {string} */ point) =>
    point === "ı" ? point : point.toLowerCase().toUpperCase().toLowerCase();
  return Array.from(text.normalize("NFC"), fold).join("");
}
