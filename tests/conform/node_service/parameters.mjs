// @ts-check
/** Parameters of queries and forms. */

import { Refused } from "./refusals.mjs";

const MOST = 32;
const MOST_BYTES = 16_384;

/** @param {string[]} texts queries and forms, which count as one @returns {URLSearchParams} */
export function parameters(texts) {
  if (texts.some((text) => Buffer.byteLength(text) > MOST_BYTES)) {
    throw new Refused("parameter_invalid", `A query or form has at most ${MOST_BYTES} bytes.`);
  }
  const found = new URLSearchParams(texts.filter(Boolean).join("&"));
  if ([...found].length > MOST) throw new Refused("parameter_invalid", `There are more than ${MOST} parameters.`);
  return found;
}

/** The one of this name, or null. @param {URLSearchParams} query @param {string} name */
export function one(query, name) {
  if (query.getAll(name).length > 1) throw new Refused("parameter_repeated", `${name} was given twice.`);
  return query.get(name);
}

/** @param {URLSearchParams} query @param {string} name @param {{most?: number, form?: RegExp}} [bounds] */
export function required(query, name, bounds = {}) {
  const value = one(query, name);
  if (!value) throw new Refused("parameter_missing", `The parameter ${name} is missing.`);
  return checked(value, name, bounds);
}

/** @param {URLSearchParams} query @param {string} name @param {{most?: number, form?: RegExp}} [bounds] */
export function optional(query, name, bounds = {}) {
  const value = one(query, name);
  return value === null ? null : checked(value, name, bounds);
}

/** @param {string} value @param {string} name @param {{most?: number, form?: RegExp}} bounds */
function checked(value, name, { most = Infinity, form = /^/ }) {
  if (Array.from(value).length > most || !form.test(value)) {
    throw new Refused("parameter_invalid", `The parameter ${name} is not of its form.`);
  }
  return value;
}
