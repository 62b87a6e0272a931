// @ts-check
/** Frames of a widget, as docs/schemas/frames-of-the-widget.json has them. */

import { NotJson, isInteger, length, object, parse } from "./json.mjs";
import { Refused } from "./refusals.mjs";

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * @typedef {{name?: string | null}} Headers
 * @typedef {{type: "message", id: string, body: string, headers?: Headers}
 *   | {type: "history", id: string, before?: number | null, limit?: number}
 *   | {type: "search", id: string, query: string}
 *   | {type: "call", id: string, action: "start" | "end" | "join", headers?: Headers, started?: string}
 *   | ({type: "signal"} & import("./calls.mjs").Signal)} Asked
 * @typedef {{type: "connect", token: string, proof: string} | {type: "refresh", token: string} | {type: "ping"}
 *   | Asked} Frame
 * @typedef {(value: unknown) => boolean} Check
 */

/** @type {Check} */
const text = (value) => typeof value === "string";
/** @type {Check} */
const id = (value) => typeof value === "string" && ID.test(value);
/** @type {Check} */
const absent = (value) => value === undefined;
/** @type {Check} */
const headers = (value) => {
  if (value === undefined) return true;
  const name = object(value) && (object(value)?.name ?? null);
  return object(value) !== null && (name === null || typeof name === "string");
};

/** @param {...string} words @returns {Check} */
const one = (...words) => (value) => typeof value === "string" && words.includes(value);
/** A text of so many characters, or none at all. @param {number} least @param {number} most @returns {Check} */
const sized = (least, most) => (value) =>
  absent(value) || (typeof value === "string" && length(value) >= least && length(value) <= most);

/** @type {Record<string, Record<string, Check>>} */
const MEMBERS = {
  connect: { token: text, proof: text },
  refresh: { token: text },
  message: { id, body: text, headers },
  history: {
    id,
    before: (value) => absent(value) || value === null || isInteger(value, 1, 2_147_483_647),
    limit: (value) => absent(value) || isInteger(value, 1, 50),
  },
  search: { id, query: text },
  call: { id, action: one("start", "end", "join"), headers, started: (value) => absent(value) || id(value) },
  signal: {
    id, call_id: (value) => typeof value === "string" && /^[0-9a-f-]{36}$/.test(value),
    action: one("ask", "answer", "candidate"), sdp: sized(1, 8000), proof: sized(1, 4096), candidate: sized(0, 1000),
  },
  ping: {},
};

/** @param {string} source @returns {Frame} */
export function readFrame(source) {
  const frame = object(read(source));
  const members = typeof frame?.type === "string" && Object.hasOwn(MEMBERS, frame.type) ? MEMBERS[frame.type] : null;
  if (!frame || !members) throw new Refused("frame_invalid", "The frame is of no known kind.");
  const wrong = Object.entries(members).find(([name, is]) => !is(frame[name]));
  if (wrong) throw new Refused("frame_invalid", `${wrong[0]} of the frame is missing or not of its form.`);
  return /** @type {Frame} */ (/** @type {unknown} */ (frame));
}

/** @param {string} source */
function read(source) {
  try {
    return parse(source);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new Refused("frame_invalid", `The frame is no strict JSON: ${error.message}.`);
  }
}
