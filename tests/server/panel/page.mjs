// The agent panel's page without a browser: its template's elements, and every frame and every clock is the test's.

import { readFileSync } from "node:fs";
import vm from "node:vm";

import { Media } from "./media.mjs";

const read = (name) => readFileSync(`${process.env.PANEL}/${name}`, "utf8");
const TEMPLATE = read("pages/panel.html");
const bare = (name) => read(name).replaceAll(/^export /gm, "");
const CALL = `const [Sound, words] = (() => {${bare("static/call.js")}; return [Call, words]; })();`;
const SCRIPT = bare("static/addresses.js") + CALL + read("static/panel.js").replaceAll(/^import .*$/gm, "");

export const NOW = 1_800_000_000;

/** A message of a conversation, by default from the person. */
export function entry(seq, { id = `m${seq}`, body = String(seq), sender = "customer", sent_at = NOW + seq } = {}) {
  return { id, seq, sender, name: null, body, sent_at };
}

/** A row of the list, whose last message came so many milliseconds after the others'. */
export function item(id, after, { last = entry(1) } = {}) {
  const who = { uid: `v_${id}`, provider: "shop", login: "visitor", auth_provider: null, name: null, email: null };
  return { id, ...who, last_at: NOW * 1000 + after, last, call: null };
}

export class Page {
  media = new Media();
  sockets = [];
  window = new EventTarget();
  isMute = false; // the server answers no ping
  reloads = 0;
  #now = NOW * 1000;
  #timers = new Map();
  #ids = 0;
  #elements = new Map();

  /** @param {Map<string, string>} kept the sessionStorage of the tab, as an earlier page has left it */
  constructor(kept = new Map(), media = {}) {
    this.kept = kept;
    Object.assign(this.media, media);
    for (const [tag, id] of TEMPLATE.matchAll(/<[^>]* id="([\w-]+)"[^>]*>/g)) {
      this.#elements.set(id, Object.assign(new Element(this), { hidden: tag.endsWith(" hidden>") }));
    }
    const chips = [...TEMPLATE.matchAll(/data-filter="(\w+)"/g)].map(([, filter]) => new Element(this, { filter }));
    this.chips = new Map(chips.map((chip) => [chip.dataset.filter, chip]));
    this.document = Object.assign(new EventTarget(), {
      visibilityState: "visible",
      body: { dataset: { socials: '{"github":"GitHub"}' } },
      activeElement: null,
      getElementById: (id) => this.$(id),
      createElement: () => new Element(this),
      querySelector: (selector) => this.#rows.get(selector.match(/"(.*)"/)[1]) ?? null,
      querySelectorAll: () => chips,
    });
    this.#run();
  }

  #run() {
    const page = this;
    const window = vm.createContext({
      document: this.document,
      location: { href: "https://chat.example/agent", reload: () => this.reloads++ },
      localStorage: { getItem: () => null, setItem: () => {} },
      sessionStorage: {
        getItem: (name) => this.kept.get(name) ?? null,
        setItem: (name, value) => this.kept.set(name, value),
        removeItem: (name) => this.kept.delete(name),
      },
      crypto: { randomUUID: () => `id-${++this.#ids}`, getRandomValues: (bytes) => bytes.fill(++this.#ids) },
      setTimeout: (callback, milliseconds = 0) => this.#wait(callback, milliseconds),
      clearTimeout: (timer) => this.#timers.delete(timer),
      setInterval: (callback, milliseconds) => this.#repeat(callback, milliseconds),
      clearInterval: (timer) => this.#timers.delete(timer),
      addEventListener: (name, listener) => this.window.addEventListener(name, listener),
      CSS: { escape: String },
      Option: Choice,
      URL,
      ...this.media.globals,
      WebSocket: class extends Socket {
        constructor(url) {
          super();
          page.sockets.push(Object.assign(this, { url: String(url), page }));
        }
      },
    });
    vm.runInContext("Date", window).now = () => this.#now;
    vm.runInContext(SCRIPT, window);
  }

  /** An element by its id, which the template must have. */
  $(id) {
    if (!this.#elements.has(id)) throw new Error(`the template has no element ${id}`);
    return this.#elements.get(id);
  }

  // the server's end

  get socket() {
    return this.sockets.at(-1);
  }

  /** Accept the socket, and greet the agent. */
  open() {
    this.socket.readyState = Socket.OPEN;
    this.hear({ type: "ready", agent: "Eve" });
    return this;
  }

  hear(frame) {
    this.socket.dispatchEvent(Object.assign(new Event("message"), { data: JSON.stringify(frame) }));
  }

  lose(code = 1006) {
    this.socket.readyState = Socket.CLOSED;
    this.socket.dispatchEvent(Object.assign(new Event("close"), { code }));
  }

  /** The frames of one kind that came over the socket, oldest first. */
  sent(type) {
    return this.socket.sent.filter((frame) => frame.type === type);
  }

  /** Answer what was last asked of the list. */
  list(items, { more = false, providers = [] } = {}) {
    this.hear({ type: "conversations", id: this.sent("list").at(-1).id, items, more, providers });
  }

  /** Let time pass, and do in order what was to be done in it. */
  pass(milliseconds) {
    const until = this.#now + milliseconds;
    for (let next = this.#next(until); next; next = this.#next(until)) {
      const [timer, { due, callback }] = next;
      this.#timers.delete(timer);
      this.#now = due;
      callback();
    }
    this.#now = until;
  }

  #wait(callback, milliseconds) {
    const timer = ++this.#ids;
    this.#timers.set(timer, { due: this.#now + milliseconds, callback });
    return timer;
  }

  #repeat(callback, milliseconds) {
    const again = () => {
      this.#timers.set(timer, { due: this.#now + milliseconds, callback: again });
      callback();
    };
    const timer = this.#wait(again, milliseconds);
    return timer;
  }

  #next(until) {
    const due = [...this.#timers].filter(([, timer]) => timer.due <= until);
    return due.sort(([, one], [, other]) => one.due - other.due)[0];
  }

  // the agent's end

  get #rows() {
    const buttons = this.$("conversations").children.map((row) => row.children[0]);
    return new Map(buttons.map((button) => [button.dataset.conversation, button]));
  }

  /** The conversations of the list, from top to bottom. */
  get listed() {
    return [...this.#rows.keys()];
  }

  /** Choose a conversation of the list. */
  choose(id) {
    this.#rows.get(id).click();
  }

  /** What stands in the open conversation; what is on its way ends in an ellipsis. */
  get said() {
    return this.$("messages").children.map(({ className, children: [bubble] }) =>
      className.includes("pending") ? `${bubble.textContent}…` : bubble.textContent,
    );
  }

  /** Write an answer and send it. */
  write(text) {
    this.$("body").value = text;
    this.$("composer").dispatchEvent(new Event("submit"));
  }
}

class Socket extends EventTarget {
  static OPEN = 1;
  static CLOSED = 3;
  readyState = 0;
  sent = [];

  send(text) {
    const frame = JSON.parse(text);
    this.sent.push(frame);
    if (frame.type === "ping" && !this.page.isMute) this.page.hear({ type: "pong" });
  }

  close() {
    this.isClosed = true;
  }
}

class Choice {
  constructor(label, value, _isDefault, isSelected) {
    Object.assign(this, { label, value, isSelected });
  }
}

class Element extends EventTarget {
  attributes = new Map();
  style = { setProperty: () => {} };
  classList = { add: () => {}, remove: () => {} };
  className = "";
  hidden = false;
  value = "";
  children = [];
  #page;

  constructor(page, dataset = {}) {
    super();
    this.#page = page;
    this.dataset = dataset;
  }

  get textContent() {
    return this.children.map((child) => child.textContent ?? child).join("");
  }

  set textContent(text) {
    this.children = [text];
  }

  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  append(...nodes) {
    for (const node of nodes) this.insertBefore(node, null);
  }

  insertBefore(node, next) {
    node.remove?.();
    if (node instanceof Element) node.parent = this;
    this.children.splice(next ? this.children.indexOf(next) : this.children.length, 0, node);
  }

  replaceChildren(...nodes) {
    this.children = [];
    this.append(...nodes);
  }

  remove() {
    const siblings = this.parent?.children ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
  }

  focus() {
    this.#page.document.activeElement = this;
  }

  click() {
    this.dispatchEvent(new Event("click"));
  }
}
