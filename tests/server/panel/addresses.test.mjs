// Which addresses in messages can be followed: by the cases that the widget's own rules are held to.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const { pieces } = await import(`data:text/javascript,${encodeURIComponent(read(`${process.env.PANEL}/static/addresses.js`))}`);
const CASES = JSON.parse(read(new URL("../../vectors/addresses.json", import.meta.url)));
const LONG = [")".repeat(4000), `https://a${")".repeat(3900)}`, "https://".repeat(500)];

function read(file) {
  return readFileSync(file, "utf8");
}

function addresses(body) {
  return pieces(body).filter(({ isAddress }) => isAddress).map(({ text }) => text);
}

test("an address of the web can be followed, without the end of its sentence", () => {
  for (const [body, found] of [...CASES.followed, ...CASES.ends_of_sentences, ...CASES.odd]) {
    assert.deepEqual(addresses(body), found, body);
  }
});

test("F216: what is no whole address, or could lead elsewhere than it seems, is text", () => {
  for (const body of [...CASES.not_whole, ...CASES.elsewhere, `https://shop.example/${"x".repeat(2000)}`]) {
    assert.deepEqual(addresses(body), [], body);
  }
});

test("the pieces of a message are the message, and none is empty", () => {
  for (const body of [...CASES.odd.map(([odd]) => odd), ...LONG]) {
    const texts = pieces(body).map(({ text }) => text);
    assert.equal(texts.join(""), body);
    assert.ok(texts.every(Boolean), body);
  }
});

test("F216: an address can be followed exactly if browsers read its host as it is written", () => {
  for (const host of hosts()) {
    const isRead = hostname(`http://${host}/`) === host && /^[a-z0-9]/.test(host);
    assert.deepEqual(addresses(`http://${host}/`), isRead ? [`http://${host}/`] : [], host);
  }
});

/** Every host of up to five of these parts, which are what IPv4 addresses are written with. */
function* hosts(length = 5) {
  const parts = ["0", "1", "07", "0x", "0xf", "a", "256", "."];
  yield* parts;
  if (length === 1) return;
  for (const host of hosts(length - 1)) for (const part of parts) yield host + part;
}

/** The host as browsers read it: Node has their parser. */
function hostname(address) {
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}
