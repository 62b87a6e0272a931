// Addresses in what people write, by the rules of the widget (its addresses.py): which parts of a message can be followed.

/** @typedef {{ text: string, isAddress: boolean }} Piece a part of a message, as it was written */

const ADDRESS_CHARS = 2000; // a longer one stays text

const CANDIDATE = /(?<![\p{L}\p{N}])https?:\/\/[^\p{White_Space}\x1c-\x1f<>"]+/giu;
// People read the host as browsers do: there is no user before it, and no letter beyond ASCII in it.
const HONEST = /^https?:\/\/[a-z0-9][a-z0-9._-]*(:[0-9]{1,5})?([/?#].*)?$/i;
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

/** How often each character is there, told at once: a message may consist of what closes. */
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
 * Whether it leads where it seems to: nothing invisible in it, and nothing that browsers read otherwise.
 * @param {string} address
 */
function isHonest(address) {
  const isPlain = [...address].length <= ADDRESS_CHARS && !UNSEEN.test(address) && !address.includes("\\");
  return isPlain && HONEST.test(address);
}
