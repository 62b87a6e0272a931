// The agent panel: shows what its socket says, and says what the agent does. Text goes into the page as text only.

import { pieces } from "./addresses.js";
import { Call as Sound, words } from "./call.js";

/** @import { Piece } from "./addresses.js" */
/** @import { Choices, Device, Signal, State } from "./call.js" */
/**
 * @typedef {{ id: string, seq: number, sender: "customer" | "agent", name: string | null, body: string, sent_at: number }} Entry
 * @typedef {{ last_at: number, id: string }} Place `last_at` in milliseconds
 * @typedef {{ call_id: string, state: "ringing" | "active" }} Call
 * @typedef {Place & { uid: string, provider: string, login: "visitor" | "custom" | "social", auth_provider: string | null,
 *   name: string | null, email: string | null, last: Entry | null, call: Call | null }} Item
 * @typedef {{ type: "answer", conversation: string, id: string, body: string }} Answer
 * @typedef {{ id: string, before: Place | undefined, keeps: boolean }} Asked
 * @typedef {{ id: string, name: string }} Provider
 * @typedef {{ id: string, conversation: string, connectedAt: number, choices: Choices }} Accepted with this id, the page
 *   can join its call again
 */

/**
 * An element of this very page; fields among them have a value.
 * @param {string} id
 */
const $ = (id) => /** @type {HTMLElement & { value: string }} */ (document.getElementById(id));
/** @type {Map<string, Item>} */
const conversations = new Map();
/** @type {Map<string, Answer>} */
const pending = new Map();
/** @type {Map<string, string>} */
const businesses = new Map(); // their names by their ids
/** @type {Record<string, string>} */
const titles = JSON.parse(document.body.dataset.socials ?? "{}"); // of the social providers
/** @type {Map<string, string>} */
const drafts = new Map(); // what is being written in conversations that are not open
const SEEN = "chatkey_agent_seen";
const CALL = "chatkey_agent_call";
const REFRESH_MS = 2_000;
const TYPING_MS = 250;
const GAP_MS = 1_000; // what comes out of order comes sooner than that
const AGAIN_MS = 3_000;
const AT_ONCE = 10; // with SPACING_MS, below the server's limit of frames a second
const SPACING_MS = 100;
const LONGEST_WAIT_MS = 2_000; // agents are few, and each of them is waited for
const CONNECT_MS = 4_000; // an attempt that takes longer began while the network was down
const ANSWER_MS = 2_000; // without an answer for so long, the page pings
const QUIET_MS = 10_000; // and so it does when nothing happens for so long
const PONG_MS = 3_000;

let agentName = "";
let configuration = /** @type {RTCConfiguration} */ ({});
let sound = /** @type {Sound | null} */ (null); // of the call that this page has accepted
let soundState = /** @type {State} */ ("connecting");
let isVerified = false;
let isSilent = false; // the browser plays nothing before a click
let accepted = newCall("", "");
let early = /** @type {Signal | null} */ (null);
let release = () => {}; // the lock of the call
let ticking = /** @type {number | undefined} */ (undefined);
let socket = /** @type {WebSocket | null} */ (null);
let attempts = 0;
let doubt = /** @type {number | undefined} */ (undefined); // the timer that looks after the connection
let reconnecting = /** @type {number | undefined} */ (undefined);
let isAwaiting = false; // a frame was sent, and nothing was heard since
let current = /** @type {string | null} */ (null);
let opened = /** @type {Item | null} */ (null);
let messages = /** @type {Map<number, Entry>} */ (new Map());
let drawn = /** @type {Map<string, HTMLElement>} */ (new Map()); // messages, each by what is to be read

let asked = /** @type {Asked | null} */ (null);
let askedAt = 0;
let refreshing = /** @type {number | undefined} */ (undefined);
let typing = /** @type {number | undefined} */ (undefined);
let filling = /** @type {number | undefined} */ (undefined);
let newest = /** @type {Place | null} */ (null);
let isMore = false;
let unread = 0;

// what was seen, on this machine only

/** @returns {Record<string, number>} */
function seen() {
  try {
    return JSON.parse(localStorage.getItem(SEEN) ?? "null") ?? {};
  } catch {
    return {};
  }
}

/** @param {string} id @param {number} seq */
function markSeen(id, seq) {
  const all = seen();
  if ((all[id] ?? 0) >= seq) return;
  all[id] = seq;
  try {
    localStorage.setItem(SEEN, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-500))));
  } catch {
    // Without storage everything looks unread after a reload; nothing else depends on it.
  }
}

/** @param {Item} item @param {Record<string, number>} all */
function isUnread(item, all) {
  return item.last?.sender === "customer" && item.last.seq > (all[item.id] ?? 0);
}

// the socket

function connect() {
  clearTimeout(reconnecting);
  reconnecting = undefined;
  const url = new URL("/agent/socket", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  const opening = (socket = new WebSocket(url));
  isAwaiting = false;
  giveUpAfter(CONNECT_MS);
  opening.addEventListener("message", (event) => {
    if (socket !== opening) return;
    isAwaiting = false;
    doubtAfter(QUIET_MS);
    handle(JSON.parse(event.data));
  });
  opening.addEventListener("close", (event) => {
    if (socket !== opening) return;
    if (event.code === 4401) return location.reload();
    lost();
  });
}

function lost() {
  socket = null;
  clearTimeout(doubt);
  asked = null;
  clearTimeout(refreshing);
  refreshing = undefined;
  clearTimeout(filling);
  filling = undefined;
  showConnection("lost", "Connection lost, trying again…");
  const wait = Math.min(LONGEST_WAIT_MS, 500 * 2 ** attempts++) * (0.5 + Math.random() / 2);
  reconnecting = setTimeout(connect, wait);
}

/** @param {object} frame */
function send(frame) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (!isAwaiting) doubtAfter(ANSWER_MS);
  isAwaiting = true;
  socket.send(JSON.stringify(frame));
}

// a connection that is dead says nothing: waiting for TCP to find out takes minutes

/** @param {number} ms */
function doubtAfter(ms) {
  clearTimeout(doubt);
  doubt = setTimeout(probe, ms);
}

/** @param {number} ms */
function giveUpAfter(ms) {
  clearTimeout(doubt);
  doubt = setTimeout(() => {
    const dead = socket;
    lost();
    dead?.close(); // its close event may come much later
  }, ms);
}

function probe() {
  if (socket?.readyState !== WebSocket.OPEN) return;
  isAwaiting = true;
  giveUpAfter(PONG_MS);
  send({ type: "ping" });
}

/** The network is back, or the page is looked at again. */
function wake() {
  if (reconnecting !== undefined) connect();
  else probe();
}

/**
 * Send answers that may not have arrived, the later ones slower than the server's limit of frames a second.
 * @param {Answer[]} answers
 */
function sendAgain(answers) {
  answers.slice(0, AT_ONCE).forEach(send);
  answers.slice(AT_ONCE).forEach((answer, place) => {
    setTimeout(() => pending.has(answer.id) && send(answer), (place + 1) * SPACING_MS);
  });
}

const handlers = {
  /** @param {{ agent: string, ice_servers: RTCIceServer[], relay_only?: boolean }} frame */
  ready({ agent, ice_servers, relay_only }) {
    agentName = agent;
    configuration = { iceServers: ice_servers, iceTransportPolicy: relay_only ? "relay" : "all" };
    if (accepted.id) sendCall("join", accepted.conversation, { id: accepted.id });
    attempts = 0;
    showConnection("live", "Live");
    lookAgain();
    sendAgain([...pending.values()]);
  },
  missed: lookAgain,
  /** @param {{ id: string, items: Item[], more: boolean, providers: Provider[] }} frame */
  conversations({ id, items, more, providers }) {
    if (!asked || id !== asked.id) return; // something else was asked for meanwhile
    const { before, keeps } = asked;
    asked = null;
    showProviders(providers);
    if (before) takePage(items, more);
    else takeFirstPage(items, more, keeps);
    opened = (current && conversations.get(current)) || opened;
    showList();
    showPerson();
    if (before) itemOf(items[0]?.id)?.focus();
    else if (!keeps) showFound();
  },
  /** @param {{ conversation: string, messages: Entry[], more: boolean, before: number | null }} frame */
  thread({ conversation, messages: entries, more, before }) {
    if (conversation !== current) return;
    const isNews = entries.some(({ seq }) => !messages.has(seq));
    for (const entry of entries) messages.set(entry.seq, entry);
    if (!entries.length || entries[0].seq === Math.min(...messages.keys())) $("older").hidden = !more;
    showMessages({ keepPlace: before !== null });
    showList();
    const above = gap();
    if (isNews && above !== undefined) fillSoon(SPACING_MS);
  },
  /** @param {{ conversation: string, message: Entry, last_at?: number }} frame */
  message({ conversation, message, last_at = message.sent_at * 1000 }) {
    pending.delete(message.id);
    for (const item of known(conversation)) {
      if ((item.last?.seq ?? 0) > message.seq) continue; // it is told again, or was overtaken
      item.last = message;
      item.last_at = Math.max(item.last_at, last_at);
      if (message.sender === "customer" && message.name && item.login === "custom") item.name = message.name;
    }
    if (conversation === current) {
      messages.set(message.seq, message);
      showMessages();
      showPerson();
      if (gap() !== undefined) fillSoon();
    }
    happened(conversation);
  },
  /** @param {{ conversation: string, call_id: string, state: Call["state"] | "ended", code?: string }} frame */
  call({ conversation, call_id, state, code }) {
    if (state === "ended" && sound?.id === call_id) {
      closeSound();
      showProblem(words(code, false));
    }
    for (const item of known(conversation)) item.call = state === "ended" ? null : { call_id, state };
    showPerson();
    happened(conversation, state === "ringing"); // who calls comes to the top
  },
  /** @param {{ call_id: string }} frame */
  accepted({ call_id }) {
    if (sound?.id !== call_id) openSound(call_id);
    if (early?.call_id === call_id) sound?.hear(early);
    early = null;
    if (!current) open(accepted.conversation); // after a reload
  },
  /** @param {Signal} signal */
  signal(signal) {
    if (signal.call_id === sound?.id) sound.hear(signal);
    else if (signal.action === "ask") early = signal; // the caller may ask before this page knows that it has the call
  },
  /** @param {{ id: string, seq: number, sent_at: number }} frame */
  ack({ id, seq, sent_at }) {
    const answered = pending.get(id);
    if (!answered) return;
    const { conversation, body } = answered;
    handlers.message({ conversation, message: { id, seq, sender: "agent", name: agentName, body, sent_at } });
  },
  /** @param {{ id?: string, code: string, message: string, retryable: boolean, retry_after?: number }} frame */
  error({ id, code, message, retryable, retry_after = 0 }) {
    if (id && id === asked?.id) {
      asked = null;
      return refreshSoon(retry_after * 1000);
    }
    if (code === "restarting") return; // the page reconnects, and says so
    if (id && id === accepted.id && code.startsWith("call_")) closeSound();
    const answered = id ? pending.get(id) : undefined;
    if (answered && retryable) {
      setTimeout(() => pending.has(answered.id) && send(answered), retry_after * 1000 + AGAIN_MS);
      return;
    }
    if (answered) giveBack(answered);
    showProblem(message);
    showMessages();
    if (code === "call_unknown") refreshSoon(); // its end was not heard
  },
};

// the sound of the call that this page has accepted

/** @param {string} id @param {string} conversation @returns {Accepted} */
function newCall(id, conversation) {
  return { id, conversation, connectedAt: 0, choices: { isMuted: false, microphone: "", speaker: "" } };
}

/** @param {string} action @param {string} conversation @param {object} [members] */
function sendCall(action, conversation, members) {
  send({ type: "call", conversation, action, ...members });
}

/** Keep the call for the next page of this tab, or forget it. */
function keepCall() {
  if (accepted.id) sessionStorage.setItem(CALL, JSON.stringify(accepted));
  else sessionStorage.removeItem(CALL);
}

/** A duplicate of the tab has a copy of the call, but not its lock. @param {string} id @returns {Promise<boolean>} */
function lockCall(id) {
  return new Promise((resolve) => {
    if (!navigator.locks) return resolve(true); // without https, there are no calls either
    navigator.locks.request(`${CALL}:${id}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise((done) => (release = () => done(null)));
    });
  });
}

/** Join the call that an earlier page of this tab has accepted. @param {Accepted} kept */
async function resumeCall(kept) {
  if (await lockCall(kept.id)) accepted = kept;
  keepCall();
  connect();
}

/** @param {string} callId */
function openSound(callId) {
  sound?.close();
  const page = {
    send,
    /** @param {State} state */
    show(state) {
      if (state === "silent") isSilent = true;
      else soundState = state;
      isVerified ||= state === "verified";
      if (state === "connected") accepted.connectedAt ||= Date.now();
      if (state === "interrupted") wake();
      keepCall();
      showPerson();
    },
    /** @param {string} code */
    fail(code) {
      showProblem(words(code, true));
      sendCall("end", accepted.conversation, { code });
      closeSound();
    },
    warn: (/** @type {string} */ code) => showProblem(words(code, true)),
    keep: keepCall,
    devices: showDevices,
    level(/** @type {number} */ level) {
      const percent = Math.round(100 * level);
      $("level").setAttribute("aria-valuenow", String(percent));
      $("level").style.setProperty("--level", `${percent}%`);
    },
  };
  sound = new Sound(callId, configuration, page, accepted.choices);
  clearInterval(ticking);
  ticking = setInterval(showElapsed, 1_000);
  showPerson();
}

function closeSound() {
  sound?.close();
  sound = null;
  isVerified = isSilent = false;
  accepted = newCall("", "");
  release();
  keepCall();
  clearInterval(ticking);
  showPerson();
}

function showElapsed() {
  const { connectedAt } = accepted;
  const seconds = Math.floor((Date.now() - connectedAt) / 1000);
  $("elapsed").textContent = connectedAt ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` : "";
}

/** With a single device, there is no choice. @param {Device[]} devices */
function showDevices(devices) {
  for (const [kind, select] of choices()) {
    const options = devices.filter((device) => device.kind === kind);
    select.replaceChildren(...options.map(({ id, label, isUsed }) => new Option(label, id, isUsed, isUsed)));
  }
  showPerson();
}

/** @returns {[Device["kind"], HTMLElement & { value: string }][]} */
function choices() {
  return [
    ["audioinput", $("microphone")],
    ["audiooutput", $("speaker")],
  ];
}

/** The call of this page in words, or that of the open conversation. */
function callText() {
  if (!sound) return opened?.call?.state === "active" ? "Another page is on this call." : "Incoming call";
  const item = conversations.get(accepted.conversation);
  const whose = accepted.conversation === current || !item ? "" : ` with ${titleOf(item)}`;
  const muted = sound.choices.isMuted ? " Your microphone is off." : "";
  if (soundState === "interrupted") return `The sound is interrupted…${muted}`;
  if (soundState === "connecting" || soundState === "verified") return `Connecting the sound…${muted}`;
  return `You are on a call${whose}.${muted}`;
}

/** Show the call of this page, whatever else is open, so that an open microphone is always visible. */
function showCall() {
  const call = sound ? "active" : opened?.call?.state;
  const isConnected = sound !== null && accepted.connectedAt > 0;
  $("call").hidden = !call;
  $("call").className = `call ${call ?? ""}`;
  const text = callText();
  if ($("call-state").textContent !== text) $("call-state").textContent = text; // each change is read out
  $("verified").hidden = !(sound && isVerified);
  $("level").hidden = $("elapsed").hidden = !isConnected;
  $("mute").hidden = !sound;
  for (const [, select] of choices()) select.hidden = !(isConnected && select.children.length > 1);
  $("play").hidden = !(sound && isSilent);
  $("accept").hidden = call !== "ringing";
  $("hang-up").hidden = call === "active" && !sound;
  $("mute").setAttribute("aria-pressed", String(sound?.choices.isMuted ?? false));
  $("mute").textContent = sound?.choices.isMuted ? "Unmute" : "Mute";
  showElapsed();
  showTitle();
}

// what comes between: messages have numbers without a gap

function lookAgain() {
  askForList({ keeps: true });
  if (current) send({ type: "thread", conversation: current });
}

/** The number above the newest gap in what is shown; undefined where there is none. */
function gap() {
  const newestFirst = [...messages.keys()].sort((a, b) => b - a);
  return newestFirst.find((seq, place) => place + 1 < newestFirst.length && newestFirst[place + 1] !== seq - 1);
}

function fillSoon(wait = GAP_MS) {
  filling ??= setTimeout(() => {
    filling = undefined;
    const before = gap();
    if (current && before !== undefined) send({ type: "thread", conversation: current, before });
  }, wait);
}

/**
 * What was refused for good goes back to where it was written, unless something else is written there.
 * @param {Answer} answered
 */
function giveBack({ id, conversation, body }) {
  pending.delete(id);
  if (conversation === current) $("body").value ||= body;
  else drafts.set(conversation, drafts.get(conversation) || body);
}

/** @param {{ type: string }} frame */
function handle(frame) {
  const handler = handlers[/** @type {keyof typeof handlers} */ (frame.type)];
  /** @type {((frame: object) => void) | undefined} */ (handler)?.(frame);
}

// the list: its first page is asked for again when something happens that it may not show, but never in a hurry

function wanted() {
  const provider = $("provider").value;
  const query = $("query").value.trim();
  const pressed = chips().filter(isPressed).map((chip) => [chip.dataset.filter, true]);
  return { ...(provider && { provider }), ...(query && { query }), ...Object.fromEntries(pressed) };
}

/** @param {{ before?: Place, keeps?: boolean }} [how] */
function askForList({ before, keeps = false } = {}) {
  clearTimeout(refreshing);
  refreshing = undefined;
  if (socket?.readyState !== WebSocket.OPEN) return; // once it is, the list is asked for anyhow
  asked = { id: crypto.randomUUID(), before, keeps };
  askedAt = Date.now();
  send({ type: "list", id: asked.id, filter: wanted(), ...(before && { before }) });
}

/** @param {number} [least] Milliseconds to wait at least. */
function refreshSoon(least = 100) {
  refreshing ??= setTimeout(
    () => {
      refreshing = undefined;
      if (asked) refreshSoon();
      else askForList({ keeps: true });
    },
    Math.max(least, askedAt + REFRESH_MS - Date.now()),
  );
}

/** @param {string} conversation @param {boolean} [isElsewhere] */
function happened(conversation, isElsewhere = false) {
  if (conversations.has(conversation)) showList();
  if (!conversations.has(conversation) || isElsewhere || Object.keys(wanted()).length) refreshSoon();
}

/** @param {Place} one @param {Place} other */
function isAbove(one, other) {
  return one.last_at > other.last_at || (one.last_at === other.last_at && one.id > other.id);
}

/**
 * What was shown below a new first page stays there, unless something may be missing between the two.
 * @param {Item[]} items @param {boolean} more @param {boolean} keeps
 */
function takeFirstPage(items, more, keeps) {
  const last = items.at(-1);
  const reaches = last && more && newest !== null && !isAbove(last, newest);
  const below = keeps && reaches ? [...conversations.values()].filter((item) => isAbove(last, item)) : [];
  conversations.clear();
  for (const item of [...below, ...items]) conversations.set(item.id, item);
  newest = items.length ? { last_at: items[0].last_at, id: items[0].id } : null;
  if (!below.length) isMore = more;
}

/** @param {Item[]} items @param {boolean} more */
function takePage(items, more) {
  for (const item of items) conversations.set(item.id, item);
  isMore = more;
}

function showMore() {
  const last = sorted().at(-1);
  if (last) askForList({ before: { last_at: last.last_at, id: last.id } });
}

/** @param {string} id */
function known(id) {
  return [conversations.get(id), opened].flatMap((item) => (item?.id === id ? [item] : []));
}

function sorted() {
  return [...conversations.values()].sort((a, b) => (isAbove(a, b) ? -1 : 1));
}

function chips() {
  return [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-filter]"))];
}

/** @param {HTMLElement} chip */
function isPressed(chip) {
  return chip.getAttribute("aria-pressed") === "true";
}

/** @param {HTMLElement} chip */
function press(chip) {
  if (chip.dataset.filter) chip.setAttribute("aria-pressed", String(!isPressed(chip)));
  else for (const other of chips()) other.setAttribute("aria-pressed", "false");
  $("all").setAttribute("aria-pressed", String(!chips().some(isPressed)));
  askForList();
}

function showFound() {
  const count = conversations.size;
  const found = `${count}${isMore ? " or more" : ""} conversation${count === 1 ? "" : "s"}`;
  $("found").textContent = count ? found : $("nothing").textContent;
}

// the page

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} [className] @param {string} [text]
 */
function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** @param {string} state @param {string} text */
function showConnection(state, text) {
  $("connection").className = `connection ${state}`;
  $("connection").textContent = text;
}

/** @param {string} text */
function showProblem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

/** @param {Provider[]} providers */
function showProviders(providers) {
  for (const { id, name } of providers) businesses.set(id, name || id);
  const select = $("provider");
  const chosen = select.value;
  select.replaceChildren(new Option("All", ""), ...providers.map(({ id, name }) => new Option(name || id, id)));
  select.value = providers.some(({ id }) => id === chosen) ? chosen : "";
}

/** @param {Item} item */
function titleOf(item) {
  return item.name || (item.login === "visitor" ? `Visitor ${item.uid.slice(2, 8)}` : item.uid);
}

/** @param {Item} item */
function loginOf(item) {
  if (item.login !== "social") return item.login;
  const name = item.auth_provider ?? item.uid.split(":")[0];
  return titles[name] ?? name;
}

/**
 * How the service knows who a person is.
 * @param {Item} item
 */
function signedIn(item) {
  const business = businesses.get(item.provider) ?? item.provider;
  if (item.login === "visitor") return `Not signed in · ${business}`;
  return item.login === "social" ? `Signed in with ${loginOf(item)} · ${business}` : `Signed in at ${business}`;
}

/** @param {number} seconds */
function when(seconds) {
  const date = new Date(seconds * 1000);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString([], today ? { timeStyle: "short" } : { dateStyle: "short", timeStyle: "short" });
}

/** @param {Item} item */
function tag(item) {
  return element("span", item.login === "visitor" ? "tag" : "tag member", loginOf(item));
}

/** @param {Item} item */
function preview(item) {
  if (item.call) return element("span", "preview ringing", item.call.state === "ringing" ? "Calling…" : "On a call");
  const { last } = item;
  return element("span", "preview", last ? (last.sender === "agent" ? `You: ${last.body}` : last.body) : "Called");
}

/** @param {Item} item @param {Record<string, number>} all */
function listItem(item, all) {
  const button = element("button", isUnread(item, all) ? "item unread" : "item");
  button.type = "button";
  button.dataset.conversation = item.id;
  button.setAttribute("aria-current", String(item.id === current));
  const avatar = element("span", "avatar", [...titleOf(item)][0].toUpperCase());
  avatar.ariaHidden = "true";
  const time = element("time", "", when(item.last_at / 1000));
  time.dateTime = new Date(item.last_at).toISOString();
  const second = element("span", "second");
  second.append(preview(item));
  if (isUnread(item, all)) {
    const dot = element("span", "dot");
    dot.append(element("span", "visually-hidden", "unread"));
    second.append(dot);
  }
  second.append(tag(item));
  button.append(avatar, element("span", "title", titleOf(item)), time, second);
  button.addEventListener("click", () => open(item.id));
  const row = element("li");
  row.append(button);
  return row;
}

function showList() {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.conversation;
  const all = seen();
  const items = sorted();
  $("conversations").replaceChildren(...items.map((item) => listItem(item, all)));
  $("nothing").hidden = items.length > 0;
  $("nothing").textContent = Object.keys(wanted()).length
    ? "No conversation matches."
    : "No conversations yet. They appear here as soon as somebody writes or calls.";
  $("more").hidden = !isMore;
  if (focused) itemOf(focused)?.focus();
  unread = items.filter((item) => isUnread(item, all)).length;
  showTitle();
  showElsewhere(items, all);
}

function showTitle() {
  const call = sound && (sound.choices.isMuted ? "On a call, muted" : "On a call, microphone on");
  document.title = `${unread ? `(${unread}) ` : ""}${call ?? "Conversations"} · Agent panel`;
}

/** @param {string | undefined | null} id @returns {HTMLElement | null} */
function itemOf(id) {
  return document.querySelector(`[data-conversation="${CSS.escape(id ?? "")}"]`);
}

/**
 * Where there is no room for the list beside a conversation, one line tells what the list would.
 * @param {Item[]} items @param {Record<string, number>} all
 */
function showElsewhere(items, all) {
  const others = items.filter((item) => item.id !== current);
  const calling = others.find((item) => item.call?.state === "ringing");
  const writing = others.find((item) => isUnread(item, all));
  const item = calling ?? writing;
  $("elsewhere").hidden = !item;
  $("elsewhere").className = calling ? "elsewhere ringing" : "elsewhere";
  if (item) {
    $("elsewhere").textContent = `${titleOf(item)} ${calling ? "is calling" : "has written"}`;
    $("elsewhere").dataset.opens = item.id;
  }
}

function showPerson() {
  showCall();
  const item = opened;
  if (!item) return;
  $("name").textContent = titleOf(item);
  $("signed-in").textContent = signedIn(item);
  $("details").textContent = [item.email, item.uid].filter(Boolean).join(" · ");
}

/** @param {Pick<Entry, "sender" | "body"> & Partial<Entry>} entry @param {boolean} isPending */
function messageItem(entry, isPending) {
  const item = element("li", `message ${entry.sender}${isPending ? " pending" : ""}`);
  const who = entry.sender === "agent" ? entry.name : (entry.name ?? "Visitor");
  const bubble = element("div", "bubble");
  bubble.dir = "auto";
  bubble.append(...pieces(entry.body).map(part));
  item.append(bubble, element("div", "meta", isPending ? "Sending…" : `${who} · ${when(entry.sent_at ?? 0)}`));
  return item;
}

/**
 * A part of a message. An address is read from left to right, whatever stands around it.
 * @param {Piece} piece
 */
function part({ text, isAddress }) {
  if (!isAddress) return text;
  const link = element("a", "", text);
  return Object.assign(link, { href: text, target: "_blank", rel: "noopener noreferrer", dir: "ltr" });
}

/**
 * A message stays the same element while it is there: what was read out is not read out again, and a link in it keeps
 * the focus.
 * @param {string} key @param {() => HTMLElement} draw
 */
function once(key, draw) {
  const made = drawn.get(key) ?? draw();
  drawn.set(key, made);
  return made;
}

/**
 * Have these elements in a list, in this order, and no others.
 * @param {HTMLElement} list @param {HTMLElement[]} wanted
 */
function arrange(list, wanted) {
  const kept = new Set(/** @type {Element[]} */ (wanted));
  for (const child of [...list.children]) if (!kept.has(child)) child.remove();
  wanted.forEach((each, place) => {
    if (list.children[place] !== each) list.insertBefore(each, list.children[place] ?? null);
  });
}

/** @param {{ keepPlace?: boolean }} [how] */
function showMessages({ keepPlace = false } = {}) {
  const scroller = $("scroller");
  const fromEnd = scroller.scrollHeight - scroller.scrollTop;
  const entries = [...messages.values()].sort((a, b) => a.seq - b.seq);
  const waiting = [...pending.values()].filter(({ conversation }) => conversation === current);
  arrange($("messages"), [
    ...entries.map((entry) => once(`${entry.seq} ${when(entry.sent_at)}`, () => messageItem(entry, false))),
    ...waiting.map(({ id, body }) => once(id, () => messageItem({ sender: "agent", body }, true))),
  ]);
  scroller.scrollTop = keepPlace ? scroller.scrollHeight - fromEnd : scroller.scrollHeight;
  const newest = entries.at(-1);
  if (current && newest && document.visibilityState === "visible") markSeen(current, newest.seq);
}

/** @param {string} id */
function open(id) {
  if (current) drafts.set(current, $("body").value);
  $("body").value = drafts.get(id) ?? "";
  current = id;
  opened = conversations.get(id) ?? null;
  messages = new Map();
  drawn = new Map();
  $("placeholder").hidden = true;
  $("conversation").hidden = false;
  $("columns").classList.add("open");
  $("older").hidden = true;
  showProblem("");
  showPerson();
  showMessages();
  showList();
  send({ type: "thread", conversation: id });
  $("name").focus({ preventScroll: true });
}

function close() {
  const left = current;
  if (left) drafts.set(left, $("body").value);
  current = null;
  opened = null;
  $("columns").classList.remove("open");
  $("conversation").hidden = true;
  $("placeholder").hidden = false;
  showCall();
  showList();
  itemOf(left)?.focus();
}

function answer() {
  const body = $("body").value.trim();
  if (!body || !current) return;
  /** @type {Answer} */
  const frame = { type: "answer", conversation: current, id: crypto.randomUUID(), body };
  pending.set(frame.id, frame);
  send(frame);
  $("body").value = "";
  showProblem("");
  showMessages();
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  answer();
});
$("body").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  answer();
});
$("accept").addEventListener("click", () => {
  if (!current) return;
  if (accepted.conversation !== current) accepted = newCall(crypto.randomUUID(), current);
  lockCall(accepted.id);
  sendCall("accept", current, { id: accepted.id });
});
$("mute").addEventListener("click", () => {
  sound?.mute(!sound.choices.isMuted);
  showPerson();
});
$("play").addEventListener("click", () => {
  isSilent = false;
  sound?.play();
  showPerson();
});
for (const [kind, select] of choices()) select.addEventListener("change", () => sound?.use(kind, select.value));
$("hang-up").addEventListener("click", () => {
  const { conversation } = sound ? accepted : { conversation: current };
  if (!conversation) return;
  sendCall("end", conversation);
  if (!sound) return;
  for (const item of known(conversation)) item.call = null;
  closeSound(); // at once, also while the socket is lost
});
$("older").addEventListener("click", () => {
  send({ type: "thread", conversation: current, before: Math.min(...messages.keys()) });
});
$("back").addEventListener("click", close);
$("elsewhere").addEventListener("click", () => open($("elsewhere").dataset.opens ?? ""));
$("more").addEventListener("click", showMore);
$("provider").addEventListener("change", () => askForList());
$("query").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(askForList, TYPING_MS);
});
for (const chip of [$("all"), ...chips()]) chip.addEventListener("click", () => press(chip));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && current && event.target !== $("query")) close();
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") wake();
  if (document.visibilityState === "visible" && current) showMessages({ keepPlace: true });
  showList();
});
addEventListener("online", wake);

const kept = sessionStorage.getItem(CALL);
if (kept) resumeCall(JSON.parse(kept));
else connect();
