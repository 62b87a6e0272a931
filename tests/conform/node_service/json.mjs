// @ts-check
/** JSON as the protocol's "Words" have it: what JSON.parse would let pass is refused. */

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const LEVELS = 32;
const DIGITS = 4300;

/** @type {Record<string, boolean | null>} */
const WORDS = { true: true, false: false, null: null };

/** A number written with a fraction or an exponent: no integer, whatever it comes to. */
export class Fraction {}

/** The text is no strict JSON; the message says why. */
export class NotJson extends Error {}

/**
 * Read UTF-8 bytes, or a text.
 * @param {Uint8Array | string} source
 * @param {{repeated?: boolean}} [lenient] what may pass: a member twice, of which the last counts
 * @returns {unknown}
 */
export function parse(source, lenient = {}) {
  const reader = new Reader(typeof source === "string" ? source : utf8(source), lenient);
  const value = reader.value(0);
  reader.take(SPACE);
  if (reader.at !== reader.text.length) throw new NotJson("something stands behind the value");
  return value;
}

/** The members, if it is an object. @param {unknown} value @returns {Record<string, unknown> | null} */
export function object(value) {
  const is = typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Fraction);
  return is ? /** @type {Record<string, unknown>} */ (value) : null;
}

/** @param {unknown} value @param {number} from @param {number} to @returns {value is number} */
export function isInteger(value, from, to) {
  return typeof value === "number" && value >= from && value <= to;
}

/** Characters, as the protocol counts them: code points. @param {string} text */
export function length(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** @param {Uint8Array} bytes */
function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotJson("the bytes are not UTF-8");
  }
}

class Reader {
  /** @param {string} text @param {{repeated?: boolean}} lenient */
  constructor(text, lenient) {
    this.text = text;
    this.lenient = lenient;
    this.at = 0;
  }

  /** @param {RegExp} pattern */
  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  /** Skip white space, then `mark` if it stands there. @param {string} mark */
  skip(mark) {
    this.take(SPACE);
    if (this.text[this.at] !== mark) return false;
    this.at += 1;
    return true;
  }

  /** @param {number} level @returns {unknown} */
  value(level) {
    if (this.skip("{")) return this.members(level + 1);
    if (this.skip("[")) return this.items(level + 1);
    if (this.text[this.at] === '"') return this.string();
    const word = this.take(/true|false|null/y);
    return word ? WORDS[word[0]] : this.number();
  }

  /** @param {number} level */
  members(level) {
    if (level > LEVELS) throw new NotJson(`more than ${LEVELS} levels`);
    const found = Object.create(null);
    if (this.skip("}")) return found;
    do {
      this.take(SPACE);
      const name = this.string();
      if (!this.skip(":")) throw new NotJson("a colon is missing");
      const value = this.value(level);
      if (name in found && !this.lenient.repeated) throw new NotJson("a member stands twice");
      found[name] = value;
    } while (this.skip(","));
    if (!this.skip("}")) throw new NotJson("an object does not end");
    return found;
  }

  /** @param {number} level */
  items(level) {
    if (level > LEVELS) throw new NotJson(`more than ${LEVELS} levels`);
    /** @type {unknown[]} */
    const found = [];
    if (this.skip("]")) return found;
    do found.push(this.value(level));
    while (this.skip(","));
    if (!this.skip("]")) throw new NotJson("a list does not end");
    return found;
  }

  /** @returns {string} */
  string() {
    const found = this.take(STRING);
    if (!found) throw new NotJson("a text is missing or does not end");
    const text = JSON.parse(found[0]);
    if (/\p{Surrogate}/u.test(text)) throw new NotJson("half a surrogate pair");
    return text;
  }

  number() {
    const found = this.take(NUMBER);
    if (!found) throw new NotJson("there is no value");
    const isFraction = Boolean(found[1] || found[2]);
    if (isFraction && !Number.isFinite(Number(found[0]))) throw new NotJson("a number beyond a double");
    if (found[0].length > DIGITS) throw new NotJson(`a number of more than ${DIGITS} digits`);
    return isFraction ? new Fraction() : Number(found[0]);
  }
}
