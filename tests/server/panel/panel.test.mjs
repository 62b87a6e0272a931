// What panel.js makes of what it is told, in any order, and of what the agent writes. Run by test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NOW, Page, entry, item } from "./page.mjs";

/** A panel in which conversation `a` is open, with these messages. */
function opened(...seqs) {
  const page = new Page().open();
  page.list([item("a", 1)]);
  page.choose("a");
  thread(page, seqs.map((seq) => entry(seq)));
  return page;
}

function thread(page, messages, { before = null, more = false } = {}) {
  page.hear({ type: "thread", conversation: "a", messages, more, before });
}

function tell(page, message, { conversation = "a", ...more } = {}) {
  page.hear({ type: "message", conversation, message, ...more });
}

// what comes between

test("what did not come within a second is asked for, until there is no gap", () => {
  const page = opened(1, 2);
  const asked = () => page.sent("thread").map(({ before }) => before);

  tell(page, entry(6));
  tell(page, entry(7));
  const atOnce = asked();
  page.pass(1000);
  thread(page, [entry(4), entry(5)], { before: 6, more: true });
  page.pass(100);
  thread(page, [entry(3)], { before: 4 });
  page.pass(60_000);

  assert.deepEqual(atOnce, [undefined]);
  assert.deepEqual(asked(), [undefined, 6, 4]);
  assert.deepEqual(page.said, ["1", "2", "3", "4", "5", "6", "7"]);
});

test("a gap for which nothing comes is not asked for without end", () => {
  const page = opened(1, 3);
  page.pass(100);
  const asked = page.sent("thread").length;

  thread(page, [], { before: 3 });
  page.pass(60_000);

  assert.equal(page.sent("thread").length, asked);
});

test("the pages of a large gap are asked for slower than the server's limit of frames", () => {
  const page = opened(1, 1000);

  for (let seq = 999; seq > 900; seq--) {
    thread(page, [entry(seq)], { before: seq + 1, more: true });
    page.pass(10);
  }

  assert.ok(page.sent("thread").length <= 12, `${page.sent("thread").length} in a second`);
});

test("what only comes out of order is put in its place, and not asked for", () => {
  const page = opened(1);

  tell(page, entry(3));
  page.pass(900);
  tell(page, entry(2));
  page.pass(60_000);

  assert.deepEqual(page.said, ["1", "2", "3"]);
  assert.equal(page.sent("thread").length, 1);
});

test("what is told twice stands there once, and stays the same element", () => {
  const page = opened(1);
  tell(page, entry(2));
  const before = [...page.$("messages").children];

  tell(page, entry(2));
  thread(page, [entry(1), entry(2)]);

  assert.deepEqual(page.said, ["1", "2"]);
  assert.ok(page.$("messages").children.every((each, place) => each === before[place]));
});

test("a message of another conversation is not shown in this one", () => {
  const page = opened(1);

  tell(page, entry(2), { conversation: "b" });
  page.hear({ type: "thread", conversation: "b", messages: [entry(3)], more: false, before: null });

  assert.deepEqual(page.said, ["1"]);
});

test("who was away asks for the list and the conversation again", () => {
  const page = opened(1);

  page.hear({ type: "missed" });
  page.lose();
  page.pass(2000);
  page.open();
  thread(page, [entry(1), entry(2)]);

  assert.equal(page.sockets.length, 2);
  assert.equal(page.sockets[0].sent.filter(({ type }) => type === "thread").length, 2);
  assert.deepEqual(page.socket.sent.map(({ type }) => type), ["list", "thread"]);
  assert.deepEqual(page.said, ["1", "2"]);
});

// answers

const stored = (answer, seq = 2) => entry(seq, { id: answer.id, body: answer.body, sender: "agent" });

test("an answer is on its way until it is acknowledged, and told of after that changes nothing", () => {
  const page = opened(1);

  page.write("Hello");
  const [answer] = page.sent("answer");
  const waiting = page.said;
  page.hear({ type: "ack", id: answer.id, seq: 2, sent_at: NOW + 2 });
  const acknowledged = page.said;
  tell(page, stored(answer));

  assert.equal(page.$("body").value, "");
  assert.deepEqual(waiting, ["1", "Hello…"]);
  assert.deepEqual(acknowledged, ["1", "Hello"]);
  assert.deepEqual(page.said, ["1", "Hello"]);
});

test("an answer that is told of first is there, and its acknowledgement changes nothing", () => {
  const page = opened(1);

  page.write("Hello");
  const [answer] = page.sent("answer");
  tell(page, stored(answer));
  const told = page.said;
  page.hear({ type: "ack", id: answer.id, seq: 2, sent_at: NOW + 2 });

  assert.deepEqual(told, ["1", "Hello"]);
  assert.deepEqual(page.said, ["1", "Hello"]);
});

test("an answer that is refused for now keeps its text, and is sent again under its id", () => {
  const page = opened(1);
  page.write("Hello");
  const [answer] = page.sent("answer");

  page.hear({ type: "error", id: answer.id, code: "unavailable", message: "Later.", retryable: true, retry_after: 5 });
  const waiting = page.said;
  page.pass(7999);
  const tooEarly = page.sent("answer").length;
  page.pass(1);

  assert.deepEqual(waiting, ["1", "Hello…"]);
  assert.equal(tooEarly, 1);
  assert.deepEqual(page.sent("answer"), [answer, answer]);
});

test("an answer that was stored meanwhile is not sent again", () => {
  const page = opened(1);
  page.write("Hello");
  const [answer] = page.sent("answer");

  page.hear({ type: "error", id: answer.id, code: "unavailable", message: "Later.", retryable: true });
  tell(page, stored(answer));
  page.pass(60_000);

  assert.equal(page.sent("answer").length, 1);
});

test("an answer that is refused for good is given back, with the reason", () => {
  const page = opened(1);
  page.write("Hello");
  const [{ id }] = page.sent("answer");

  page.hear({ type: "error", id, code: "too_large", message: "Too long.", retryable: false });

  assert.deepEqual(page.said, ["1"]);
  assert.equal(page.$("body").value, "Hello");
  assert.deepEqual([page.$("problem").textContent, page.$("problem").hidden], ["Too long.", false]);
});

test("what is being written is not lost for an answer that is given back", () => {
  const page = opened(1);
  page.write("Hello");
  const [{ id }] = page.sent("answer");
  page.$("body").value = "And";

  page.hear({ type: "error", id, code: "too_large", message: "Too long.", retryable: false });

  assert.equal(page.$("body").value, "And");
});

test("what is written to one person is not shown to another, and is still there afterwards", () => {
  const page = new Page().open();
  page.list([item("a", 1), item("b", 2)]);
  const shown = [];

  for (const [id, text] of [["a", "Dear A"], ["b", "Dear B"], ["a", "Dear A, "], ["b", ""]]) {
    page.choose(id);
    shown.push(page.$("body").value);
    page.$("body").value = text;
  }
  page.$("back").click();
  page.choose("a");

  assert.deepEqual(shown, ["", "", "Dear A", "Dear B"]);
  assert.equal(page.$("body").value, "Dear A, ");
});

test("an answer that is refused for good is given back in its own conversation", () => {
  const page = new Page().open();
  page.list([item("a", 1), item("b", 2)]);
  page.choose("a");
  page.write("Hello");
  const [{ id }] = page.sent("answer");
  page.choose("b");

  page.hear({ type: "error", id, code: "too_large", message: "Too long.", retryable: false });
  const meanwhile = page.$("body").value;
  page.choose("a");

  assert.equal(meanwhile, "");
  assert.equal(page.$("body").value, "Hello");
});

test("a page on which nothing happens pings, and stays connected", () => {
  const page = opened(1);
  page.list([]);

  page.pass(60_000);

  assert.equal(page.sockets.length, 1);
  assert.ok(page.sent("ping").length <= 6);
});

test("a dead connection is left within seconds, without waiting for its close event", () => {
  const page = opened(1);
  page.isMute = true;
  const dead = page.socket;

  page.pass(13_000);
  const shown = page.$("connection").textContent;
  page.pass(1_000);

  assert.match(shown, /lost/);
  assert.ok(dead.isClosed);
  assert.equal(page.sockets.length, 2);
});

test("the close event of a connection that was left changes nothing", () => {
  const page = opened(1);
  page.isMute = true;
  const dead = page.socket;
  page.pass(14_000);
  page.isMute = false;
  page.open();

  dead.dispatchEvent(Object.assign(new Event("close"), { code: 4401 }));
  page.pass(5_000);

  assert.deepEqual([page.sockets.length, page.reloads, page.$("connection").textContent], [2, 0, "Live"]);
});

test("an answer that is not acknowledged is sent again on a new connection", () => {
  const page = opened(1);
  page.list([]);
  page.isMute = true;

  page.write("Hello");
  page.pass(5_000 + 500);
  page.open();

  assert.equal(page.sockets.length, 2);
  assert.equal(page.sent("answer").length, 1);
});

test("an attempt to connect that takes too long is given up", () => {
  const page = new Page();

  page.pass(4_500);

  assert.equal(page.sockets.length, 2);
});

test("when the network is back the page connects at once, or asks whether the connection lives", () => {
  const page = opened(1);
  const back = () => page.window.dispatchEvent(new Event("online"));

  back();
  const pings = page.sent("ping").length;
  page.lose();
  back();

  assert.equal(pings, 1);
  assert.equal(page.sockets.length, 2);
});

test("an answer written while the connection is lost goes out with the next one", () => {
  const page = opened(1);
  page.lose();

  page.write("Hello");
  const waiting = page.said;
  page.pass(2000);
  page.open();

  assert.deepEqual(waiting, ["1", "Hello…"]);
  assert.deepEqual(page.sent("answer").map(({ body }) => body), ["Hello"]);
});

// the list

test("two who write within one second stand in the order in which they wrote", () => {
  const page = new Page().open();
  page.list([item("a", 200), item("b", 100)]);

  tell(page, entry(2, { sent_at: NOW }), { conversation: "b", last_at: NOW * 1000 + 300 });

  assert.deepEqual(page.listed, ["b", "a"]);
});

test("of two at one time the same is always above, whoever is told of last", () => {
  const page = new Page().open();

  page.list([item("a", 100), item("b", 100)]);

  assert.deepEqual(page.listed, ["b", "a"]);
});

test("a message that is sent or told again lifts no conversation", () => {
  const page = new Page().open();
  const last = entry(2, { sent_at: NOW });
  page.list([item("a", 200), item("b", 100, { last })]);

  tell(page, last, { conversation: "b", last_at: NOW * 1000 + 100 });
  tell(page, entry(1), { conversation: "b", last_at: NOW * 1000 + 900 });

  assert.deepEqual(page.listed, ["a", "b"]);
});

test("an answer lifts its conversation, and its time, which is told in seconds, lets none sink", () => {
  const page = new Page().open();
  page.list([item("a", 900), item("b", 500), item("c", 100)]);

  for (const [id, seconds] of [["a", 0], ["c", 5]]) {
    page.choose(id);
    page.write("Hello");
    page.hear({ type: "ack", id: page.sent("answer").at(-1).id, seq: 2, sent_at: NOW + seconds });
  }

  assert.deepEqual(page.listed, ["c", "a", "b"]);
});

test("a new first page keeps what was shown below it", () => {
  const page = new Page().open();
  page.list([item("d", 40), item("c", 30)], { more: true });
  page.$("more").click();
  page.list([item("b", 20), item("a", 10)]);

  page.hear({ type: "missed" });
  page.list([item("e", 50), item("d", 40)], { more: true });

  assert.deepEqual(page.sent("list")[1].before, { last_at: NOW * 1000 + 30, id: "c" });
  assert.deepEqual(page.listed, ["e", "d", "c", "b", "a"]);
  assert.equal(page.$("more").hidden, true);
});

test("a new first page keeps nothing where something may be missing between", () => {
  const page = new Page().open();
  page.list([item("b", 20), item("a", 10)], { more: true });

  page.hear({ type: "missed" });
  page.list([item("d", 40), item("c", 30)], { more: true });

  assert.deepEqual(page.listed, ["d", "c"]);
  assert.equal(page.$("more").hidden, false);
});

test("a filter begins with its own first page, and an answer to what was asked before it is not taken", () => {
  const page = new Page().open();
  page.list([item("b", 20), item("a", 10)]);
  page.hear({ type: "missed" });
  const { id } = page.sent("list").at(-1);

  page.chips.get("members").click();
  page.hear({ type: "conversations", id, items: [item("c", 30)], more: false, providers: [] });
  const meanwhile = page.listed;
  page.list([item("a", 10)]);

  assert.deepEqual(page.sent("list").at(-1).filter, { members: true });
  assert.deepEqual(meanwhile, ["b", "a"]);
  assert.deepEqual(page.listed, ["a"]);
});

test("however much happens elsewhere, the list is asked for every two seconds at most", () => {
  const page = new Page().open();
  page.list([]);

  for (let seq = 1; seq <= 50; seq += 1) {
    tell(page, entry(seq), { conversation: `c${seq}` });
    page.pass(100);
    if (page.sent("list").length > 1) page.list([]);
  }

  assert.equal(page.sent("list").length, 1 + 2);
});

test("a list that was refused is asked for again", () => {
  const page = new Page().open();
  const [{ id }] = page.sent("list");

  page.hear({ type: "error", id, code: "unavailable", message: "Later.", retryable: true });
  page.pass(2000);
  page.list([item("a", 10)]);

  assert.deepEqual(page.listed, ["a"]);
  assert.equal(page.$("problem").hidden, true);
});

// the page

test("an address in a message is a link without opener and referrer, and a message's markup is text", () => {
  const page = opened();

  tell(page, entry(1, { body: "See https://shop.example/oak. <a href=x> javascript:alert(1)" }));

  const [{ children: [bubble] }] = page.$("messages").children;
  const [before, link, after] = bubble.children;
  const { href, target, rel, dir, textContent } = link;
  assert.deepEqual([before, after], ["See ", ". <a href=x> javascript:alert(1)"]);
  assert.equal(textContent, "https://shop.example/oak");
  assert.deepEqual([href, target, rel, dir], [textContent, "_blank", "noopener noreferrer", "ltr"]);
});

test("an agent who was signed out is led to the sign-in", () => {
  const page = new Page().open();

  page.lose(4401);
  page.pass(60_000);

  assert.deepEqual([page.reloads, page.sockets.length], [1, 1]);
});

test("the page says how a person has signed in, and where", () => {
  const said = [
    { login: "visitor" },
    { login: "custom", name: "Ada Lindqvist" },
    { login: "social", auth_provider: "github" },
  ].map((who) => {
    const page = new Page().open();
    page.list([{ ...item("a", 1), ...who }], { providers: [{ id: "shop", name: "Birch & Bone" }] });
    page.choose("a");
    return page.$("signed-in").textContent;
  });

  assert.deepEqual(said, [
    "Not signed in · Birch & Bone",
    "Signed in at Birch & Bone",
    "Signed in with GitHub · Birch & Bone",
  ]);
});
