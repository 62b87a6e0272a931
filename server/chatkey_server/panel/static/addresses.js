// Addresses in what people write, by the rules of the widget (its addresses.py): which parts of a message can be followed.

/** @typedef {{ text: string, isAddress: boolean }} Piece a part of a message, as it was written */

const ADDRESS_CHARS = 2000; // a longer one stays text

const CANDIDATE = /(?<![\p{L}\p{N}])https?:\/\/[^\p{White_Space}\x1c-\x1f<>"]+/giu;
// The host is ASCII and has no user name before it, so people and browsers read the same one.
const HONEST = /^https?:\/\/(?<host>[a-z0-9][a-z0-9._-]*)(:(?<port>[1-9][0-9]{0,4}))?([/?#].*)?$/i;
const LAST_PORT = 65_535;
const NUMBER = /^([0-9]+|0x[0-9a-f]*)$/i;
const BYTES = new Set(Array.from({ length: 256 }, (_, number) => String(number)));
const UNSEEN = /[\p{C}\p{Z}]/u;
const WORDS = /^[\p{ASCII}\p{L}\p{N}]$/u;

const AFTER = ".,;:!?'*";
/** @type {Record<string, string>} */
const CLOSING = { ")": "(", "]": "[", "}": "{" };

/**
 * Take a message apart into text and addresses of http and https; together they are the message.
 * @param {string} body @returns {Piece[]}
 */
export function pieces(body) {
  const found = [];
  let end = 0;
  for (const { 0: candidate, index } of body.matchAll(CANDIDATE)) {
    const address = withoutEndOfSentence(candidate);
    if (!isHonest(address)) continue;
    found.push({ text: body.slice(end, index), isAddress: false }, { text: address, isAddress: true });
    end = index + address.length;
  }
  return [...found, { text: body.slice(end), isAddress: false }].filter(({ text }) => text);
}

/** @param {string} candidate */
function withoutEndOfSentence(candidate) {
  const chars = [...candidate];
  const count = new Counter(chars);
  while (isOfTheSentence(chars[chars.length - 1], count)) count.add(chars.pop() ?? "", -1);
  return chars.join("");
}

/** @param {string} last @param {Counter} count */
function isOfTheSentence(last, count) {
  if (last in CLOSING) return count.of(last) > count.of(CLOSING[last]);
  return AFTER.includes(last) || !WORDS.test(last);
}

/** How often each character is in a text, counted once: a message may consist of closing brackets. */
class Counter {
  /** @param {string[]} chars */
  constructor(chars) {
    this.counts = /** @type {Map<string, number>} */ (new Map());
    for (const char of chars) this.add(char, 1);
  }

  /** @param {string} char @param {number} times */
  add(char, times) {
    this.counts.set(char, this.of(char) + times);
  }

  /** @param {string} char */
  of(char) {
    return this.counts.get(char) ?? 0;
  }
}

/**
 * Whether the address leads where it seems to: it has no invisible characters, and browsers read it as is.
 * @param {string} address
 */
function isHonest(address) {
  if ([...address].length > ADDRESS_CHARS || UNSEEN.test(address) || address.includes("\\")) return false;
  const { host, port } = HONEST.exec(address)?.groups ?? {};
  return host !== undefined && isReadAsWritten(host) && Number(port ?? 0) <= LAST_PORT;
}

/**
 * Whether browsers take the host for a name, or for the IPv4 address that it shows. A host whose last label is a number
 * is an IPv4 address to them, in octal, hexadecimal and short forms as well
 * (https://url.spec.whatwg.org/#ends-in-a-number-checker).
 * @param {string} host
 */
function isReadAsWritten(host) {
  const last = host.replace(/\.$/, "").split(".").pop() ?? "";
  return !NUMBER.test(last) || isIpv4(host);
}

/**
 * Whether the host is an IPv4 address in its usual form: four decimal numbers without leading zeros.
 * @param {string} host
 */
function isIpv4(host) {
  const labels = host.split(".");
  return labels.length === 4 && labels.every((label) => BYTES.has(label));
}
