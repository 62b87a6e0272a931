// The sound of an agent's call, without a browser: microphones and connections are the test's. Run by test_scripts.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Page, item } from "./page.mjs";

const CALL = { conversation: "a", call_id: "call-1" };
const FINGERPRINT = "AB:CD";
const CANDIDATE = "candidate:1 1 udp 2122260223 192.168.1.7 50007 typ host";
const UNCONNECTED = "The sound could not be connected.";

/** Let all promises settle. */
const settled = () => new Promise(setImmediate);

/** A panel whose agent has accepted a call. */
async function accepted({ refusal = null } = {}) {
  const page = new Page().open();
  page.media.refusal = refusal;
  page.list([item("a", 1)]);
  page.choose("a");
  page.hear({ type: "call", ...CALL, state: "ringing" });
  page.$("accept").click();
  page.hear({ type: "accepted", call_id: CALL.call_id });
  page.hear({ type: "call", ...CALL, state: "active" });
  await settled();
  return page;
}

async function signal(page, members) {
  page.hear({ type: "signal", call_id: CALL.call_id, ...members });
  await settled();
}

const sent = (page, action) => page.sent("signal").filter((frame) => frame.action === action);

/** Let the caller ask for an offer, and answer it. */
async function negotiate(page, { sdp = `fingerprint ${FINGERPRINT}\r\na=${CANDIDATE}`, id = "ask-1", nonce } = {}) {
  await signal(page, { action: "ask", id });
  nonce ??= sent(page, "offer").at(-1).nonce;
  await signal(page, { action: "answer", sdp, nonce, fingerprint: FINGERPRINT });
}

async function connected() {
  const page = await accepted();
  await negotiate(page);
  page.media.peer.become("connected");
  return page;
}

async function wait(page, milliseconds) {
  page.pass(milliseconds);
  await settled();
}

const ends = (page) => page.sent("call").filter(({ action }) => action === "end").length;

/** What the agent reads about the problem, and whether the call has ended here. */
function ended(page) {
  return [page.$("problem").textContent, ends(page), page.media.streams.every(({ track }) => track.isStopped)];
}

// the offer and its answer

test("an offer is sent when the caller asks, and the verified answer connects the sound", async () => {
  const page = await accepted();
  const before = sent(page, "offer").length;

  await negotiate(page);
  const verified = page.$("verified").hidden;
  page.media.peer.become("connected");

  assert.deepEqual([before, sent(page, "offer").length], [0, 1]);
  assert.equal(page.media.peer.remoteDescription.type, "answer");
  assert.equal(verified, false);
  assert.equal(page.$("call-state").textContent, "You are on a call.");
});

test("a question that is passed on again gets the same offer, until it is answered", async () => {
  const page = await accepted();

  await signal(page, { action: "ask", id: "ask-1" });
  await negotiate(page);
  await signal(page, { action: "ask", id: "ask-1" });

  const nonces = sent(page, "offer").map(({ nonce }) => nonce);
  assert.deepEqual([nonces.length, new Set(nonces).size], [2, 1]);
});

test("an answer with another fingerprint or nonce ends the call", async () => {
  for (const answer of [{ sdp: "fingerprint EF:01" }, { nonce: "of-an-earlier-offer" }]) {
    const page = await accepted();

    await negotiate(page, answer);

    assert.equal(page.media.peer.remoteDescription, null);
    assert.deepEqual(ended(page), ["The answer of the caller does not fit. Something interferes with the call.", 1, true]);
  }
});

// a sound that does not connect

test("a call that does not connect ends if getStats answers, fails, or does not answer", async () => {
  const fails = () => Promise.reject(new Error("no statistics"));
  for (const stats of [async () => new Map(), fails, () => new Promise(() => {})]) {
    const page = await accepted();
    await negotiate(page);
    page.media.stats = stats;

    await wait(page, 14_999);
    const before = ends(page);
    await wait(page, 1);
    await wait(page, 2_000);
    await wait(page, 60_000);

    assert.equal(before, 0);
    assert.deepEqual(ended(page), [UNCONNECTED, 1, true]);
  }
});

test("a call ends if the caller never answers a second offer", async () => {
  const page = await connected();

  await signal(page, { action: "ask", id: "ask-2" });
  await wait(page, 15_000);

  assert.deepEqual(ended(page), [UNCONNECTED, 1, true]);
});

test("a sound that connects at the last moment goes on", async () => {
  const page = await accepted();
  await negotiate(page);

  page.pass(15_000);
  page.media.peer.become("connected");
  await wait(page, 60_000);

  assert.equal(ends(page), 0);
});

test("a second failure gives the sound no more time", async () => {
  const page = await connected();
  page.media.peer.become("disconnected");
  page.pass(19_999);

  page.media.peer.become("failed");
  const before = ends(page);
  await wait(page, 1);

  assert.equal(before, 0);
  assert.deepEqual(ended(page), [UNCONNECTED, 1, true]);
});

test("the local network is named as the cause if a candidate was dropped and the permission is denied", async () => {
  for (const [permission, port, isNamed] of [
    ["denied", 50_008, true],
    ["granted", 50_008, false],
    ["denied", 50_007, false],
  ]) {
    const page = await accepted();
    await negotiate(page);
    page.media.permission = permission;
    page.media.stats = async () => new Map([["c", { type: "remote-candidate", port }]]);

    await wait(page, 15_000);

    const [text, ...rest] = ended(page);
    assert.equal(text.includes("keeps this page from your local network"), isNamed);
    assert.deepEqual(rest, [1, true]);
  }
});

test("a candidate that comes after the answer is compared, too", async () => {
  const page = await accepted();
  await negotiate(page, { sdp: `fingerprint ${FINGERPRINT}` });
  page.media.permission = "denied";

  await signal(page, { action: "candidate", candidate: CANDIDATE });
  await wait(page, 15_000);

  assert.match(page.$("problem").textContent, /local network/);
});

// microphone and speaker

test("the call ends with the reason for which there is no microphone", async () => {
  for (const [name, text] of [
    ["NotAllowedError", "Calls need your microphone. Allow it in your browser."],
    ["NotFoundError", "No microphone was found."],
    ["NotReadableError", "Another program is using the microphone."],
  ]) {
    const page = await accepted({ refusal: new DOMException("", name) });

    assert.deepEqual([page.$("problem").textContent, ends(page)], [text, 1]);
  }
});

test("a candidate that the browser cannot read is ignored", async () => {
  const page = await connected();
  page.media.peer.addIceCandidate = () => Promise.reject(new DOMException("", "OperationError"));

  await signal(page, { action: "candidate", candidate: "nonsense" });

  assert.equal(ends(page), 0);
});

test("a reloaded page joins its call with what the agent has chosen, and its duplicate leaves the call alone", async () => {
  const first = await connected();
  first.$("mute").click();
  for (const isDuplicate of [false, true]) {
    const page = new Page(new Map(first.kept), { isDuplicate });
    await settled();
    page.open();
    const [joined] = page.sent("call");
    assert.equal(joined?.action, isDuplicate ? undefined : "join");
    if (isDuplicate) continue;
    await signal(page, { action: "ask", id: "ask-1" });
    page.hear({ type: "accepted", call_id: CALL.call_id });
    await settled();
    const muted = [page.$("mute").textContent, page.media.track.enabled, page.$("call-state").textContent];
    assert.deepEqual(muted, ["Unmute", false, "Connecting the sound… Your microphone is off."]);
    assert.equal(sent(page, "offer").length, 1);
    assert.match(page.document.title, /On a call, muted/);
  }
});

const DEVICES = [
  { kind: "audioinput", deviceId: "built-in", label: "Built-in" },
  { kind: "audioinput", deviceId: "headset", label: "Headset" },
  { kind: "audiooutput", deviceId: "default", label: "Speakers" },
  { kind: "audiooutput", deviceId: "headset", label: "Headset" },
  { kind: "videoinput", deviceId: "camera", label: "Camera" },
];

async function withDevices(devices = DEVICES) {
  const page = await connected();
  page.media.devices = devices;
  page.media.dispatchEvent(new Event("devicechange"));
  await settled();
  return page;
}

async function choose(page, name, value) {
  page.$(name).value = value;
  page.$(name).dispatchEvent(new Event("change"));
  await settled();
}

const choices = (page, name) =>
  page.$(name).children.map(({ label, isSelected }) => (isSelected ? `*${label}` : label));

test("the devices that the browser lists can be chosen", async () => {
  const page = await withDevices();

  assert.deepEqual(choices(page, "microphone"), ["*Built-in", "Headset"]);
  assert.deepEqual(choices(page, "speaker"), ["*Speakers", "Headset"]);
  assert.deepEqual([page.$("microphone").hidden, page.$("speaker").hidden], [false, false]);
});

test("another microphone is used in the call that goes on, and stays muted", async () => {
  const page = await withDevices();
  const former = page.media.track;
  page.$("mute").click();

  await choose(page, "microphone", "headset");

  const { track } = page.media;
  assert.deepEqual([track.deviceId, track.enabled, page.media.peer.senders[0].track], ["headset", false, track]);
  assert.deepEqual([former.isStopped, ends(page)], [true, 0]);
  assert.deepEqual(choices(page, "microphone"), ["Built-in", "*Headset"]);
});

test("another speaker is used", async () => {
  const page = await withDevices();

  await choose(page, "speaker", "headset");

  assert.equal(page.media.audio.sinkId, "headset");
  assert.deepEqual(choices(page, "speaker"), ["Speakers", "*Headset"]);
});

test("a microphone that cannot be used does not end the call", async () => {
  const page = await withDevices();
  page.media.refusal = new DOMException("", "NotReadableError");

  await choose(page, "microphone", "headset");

  assert.deepEqual(ended(page), ["Another program is using the microphone.", 0, false]);
  assert.deepEqual(choices(page, "microphone"), ["*Built-in", "Headset"]);
});

test("a microphone that is chosen at the very end is closed", async () => {
  const page = await withDevices();
  page.$("microphone").value = "headset";
  page.$("microphone").dispatchEvent(new Event("change"));

  page.hear({ type: "call", ...CALL, state: "ended" });
  await settled();

  assert.deepEqual([page.media.track.deviceId, page.media.track.isStopped], ["headset", true]);
});

// the end, and the sound

test("hanging up closes the microphone at once, although the socket is lost", async () => {
  const page = await connected();
  page.lose();

  page.$("hang-up").click();
  page.pass(2_000);
  page.open();

  assert.deepEqual([page.media.track.isStopped, page.$("call").hidden], [true, true]);
  assert.deepEqual(page.sent("call"), []);
});
