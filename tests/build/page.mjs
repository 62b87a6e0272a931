// A page for sdk.js without a browser: every file, answer and clock is the test's.

import { readFileSync } from "node:fs";
import vm from "node:vm";

const SOURCE = readFileSync(process.env.SDK ?? new URL("../../widget_sim/page/sdk.js", import.meta.url), "utf8");

/** A snapshot: two parts, at 8 and at 40, of four bytes each, behind a head of eight. The heap begins at 36. */
const FILE = Uint8Array.from([
  ...new Uint8Array(Uint32Array.of(2, 8, 36, 8, 4, 40, 4).buffer),
  ...[1, 2, 3, 4, 5, 6, 7, 8],
  ...[21, 22, 23, 24],
  ...[31, 32, 33, 34],
]);

export const SERVED = {
  version: "1.0",
  baseUrl: "https://chat.example",
  pyodide: "https://cdn.example/pyodide-1/",
  snapshot: "https://cdn.example/widget-1.snapshot",
  snapshotSize: FILE.length,
  sources: "https://cdn.example/widget-1.zip",
  lock: { version: "1" },
};
export const CONFIG = { providerId: "shop" };

/** The WebAssembly's module, and where CPython's helper for calls is in it. */
function newModule() {
  const { buffer } = new Int32Array(16);
  const places = { __PyRuntime: 32, __PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET: 4 };
  return { HEAPU8: new Uint8Array(buffer), HEAP32: new Int32Array(buffer), ...places };
}

/** An element with the members that the script uses. */
function newElement(page) {
  const attributes = {};
  const remove = () => page.shown.splice(page.shown.indexOf(made), 1);
  const made = { style: {}, attributes, children: [], remove };
  made.setAttribute = (name, value) => void (attributes[name] = value);
  made.append = (...children) => void made.children.push(...children);
  return made;
}

/** What has been started by the time no promise is waiting any more. */
export const settled = () => new Promise((resolve) => setTimeout(resolve, 2));

export class Page {
  requests = []; // addresses that were fetched or imported
  started = []; // how Python was started: "snapshot" or "sources"
  hosts = []; // what the Python widget was handed, one per start
  calls = []; // what the Python widget was asked to do
  events = []; // [name, detail] of every event on the handle
  shown = []; // elements in the body
  dom = []; // types of the events on the document
  console = []; // lines for the page's author
  reported = []; // what the page would hear of in window.onerror
  timers = []; // what waits for time to pass
  seeded = 0;
  missing = new Set(); // addresses that cannot be loaded
  pyodide = newModule();
  heard = new EventTarget(); // what the window hears of
  wasm = {}; // the exports of the WebAssembly
  exports = null; // the same, as Pyodide gets them
  bytes = true; // whether the browser can read a file into a buffer
  destroyed = []; // which of the Python widget's functions were let go

  constructor({
    secure = true,
    wasm = true,
    twoFunctions = false,
    lacks = [],
    prerendering = false,
    hostname = "shop.example",
    permissions = {},
    window = {},
  } = {}) {
    this.document = Object.assign(new EventTarget(), {
      prerendering,
      body: { append: (element) => this.shown.push(element) },
      createElement: () => newElement(this),
    });
    for (const type of ["service:ready", "service:error"]) {
      this.document.addEventListener(type, (event) => this.dom.push([type, event.detail]));
    }
    const say = (...words) => this.console.push(words.join(" "));
    this.window = vm.createContext({
      isSecureContext: secure,
      location: { origin: `http://${hostname}`, hostname },
      document: this.document,
      navigator: { languages: ["en"], onLine: true, userAgent: "Test", permissions: new Permissions(permissions) },
      console: { warn: say, error: say },
      performance,
      reportError: (error) => this.reported.push(error),
      addEventListener: (type, listener) => this.heard.addEventListener(type, listener),
      removeEventListener: (type, listener) => this.heard.removeEventListener(type, listener),
      fetch: (url, options) => this.fetch(url, options),
      importFile: (url) => this.importFile(url),
      setTimeout: (callback, milliseconds) => this.timers.push({ callback, milliseconds }),
      clearTimeout: (id) => delete this.timers[id - 1],
      CustomEvent,
      URL,
      WebAssembly: {
        Module: wasm ? WebAssembly.Module : refuseToCompile,
        Instance: twoFunctions ? InstanceOfWebKit : WebAssembly.Instance,
        compileStreaming: async (response) => response,
        instantiate: async () => ({ exports: this.wasm }),
        validate: (bytes) => !lacks.includes(bytes.at(-1)) && WebAssembly.validate(bytes),
      },
      ...window,
    });
    this.window.window = vm.runInContext("globalThis", this.window);
  }

  /** Run the script, as a tag on the page would. */
  load(served = SERVED) {
    const code = SOURCE.replace("/* served */ null", JSON.stringify(served)).replace(/\bimport\(/g, "importFile(");
    vm.runInContext(code, this.window);
    this.window.Service.on("*", (detail, name) => this.events.push([name, detail]));
    return this.window.Service;
  }

  /** Let the timer go off that waits for this long. */
  pass(milliseconds) {
    this.timers.find((timer) => timer?.milliseconds === milliseconds).callback();
  }

  get codes() {
    return this.events.filter(([name]) => name === "error").map(([, detail]) => detail.code);
  }

  async fetch(url) {
    this.requests.push(url);
    if (this.missing.has(url)) return { ok: false, status: 404 };
    const body = this.bytes ? new Response(FILE).body : { getReader: refuseToRead };
    return { ok: true, body, arrayBuffer: async () => FILE.slice().buffer };
  }

  async importFile(url) {
    this.requests.push(url);
    if (this.missing.has(url.split("#")[0])) throw new Error(`${url} is not there.`);
    return { loadPyodide: (options) => this.loadPyodide(options), default: (settings) => this.instantiate(settings) };
  }

  /** Without its WebAssembly, Pyodide never comes back. */
  async instantiate({ instantiateWasm }) {
    const { exports } = await new Promise((resolve) => instantiateWasm({ env: {} }, resolve));
    this.exports = exports;
    return this.pyodide;
  }

  async loadPyodide({ indexURL, jsglobals, _loadSnapshot, createPyodideModule }) {
    this.globals = jsglobals; // what Python finds in `js`
    if (createPyodideModule) await createPyodideModule({ preRun: [() => {}] });
    else await this.importFile(`${indexURL}pyodide.asm.mjs`);
    this.started.push(_loadSnapshot ? "snapshot" : "sources");
    this.head = _loadSnapshot;
    return { pyimport: (name) => this.module(name), unpackArchive: () => {} };
  }

  module(name) {
    if (name === "random") return { seed: () => this.seeded++ };
    return { start: (host) => this.startWidget(name, host) };
  }

  startWidget(entry, host) {
    this.hosts.push({ entry, ...host });
    const method = (name) => {
      const call = (...values) => void this.calls.push([name, ...values]);
      return Object.assign(call, { destroy: () => this.destroyed.push(name) });
    };
    const names = ["logout", "refreshIdentity", "shutdown", "open", "close"];
    const debug = Object.assign(() => ({ jkt: "thumbprint" }), { destroy: () => this.destroyed.push("debug") });
    return { ...Object.fromEntries(names.map((name) => [name, method(name)])), debug };
  }
}

/** The permissions that the browser knows, with their states. */
class Permissions {
  constructor(states) {
    this.states = states;
  }

  async query({ name }) {
    if (!(name in this.states)) throw new TypeError(`'${name}' is not a valid enum value of type PermissionName.`);
    return { state: this.states[name] };
  }
}

/** Where an exported function and the same one in a table are two objects. */
class InstanceOfWebKit {
  exports = { f: () => {}, t: { get: () => () => {} } };
}

function refuseToRead() {
  throw new TypeError("The mode 'byob' is not supported.");
}

function refuseToCompile() {
  throw new Error("blocked by the page's policy");
}
