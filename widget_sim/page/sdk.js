// chatkey's loader: puts the handle `Service` on the page at once, brings Python up from a snapshot, hands over to it.
// Identity, tokens and chat are Python's (chatkey_widget); here is only what must happen before Python runs.

(() => {
  "use strict";

  // Written in by the server: baseUrl; the addresses pyodide, snapshot and sources; memory, the interpreter's size in
  // bytes; lock, which Pyodide this is.
  const served = /* served */ null;

  const ENTRY = "chatkey_widget.browser.main";
  const LOADED = Symbol.for("chatkey.sdk");
  const WASM = `${served.pyodide}pyodide.asm.wasm`;
  const STALLED = 3_000; // milliseconds
  const SLOW = 30_000;

  // Taken now, because the page may replace them later.
  const { clearTimeout, console, fetch, performance, Promise, reportError, setTimeout } = window;

  if (window[LOADED]) {
    console.warn("chatkey: this page loads sdk.js twice; the second one does nothing.");
    return;
  }
  window[LOADED] = true;

  /** Why there is no widget: what `ready` is rejected with, and the detail of the event `error`. */
  class StartError extends Error {
    constructor(code, message, remediation, { retryable = false, cause } = {}) {
      super(message, { cause });
      Object.assign(this, { name: "StartError", code, phase: "start", remediation, retryable });
    }

    get detail() {
      const { code, phase, message, remediation, retryable } = this;
      return { code, phase, message, remediation, retryable };
    }
  }

  // --- What the page holds ---

  const listeners = new Map();
  let widget = newWidget(); // the one of this page, from initService() to shutdown()

  function newWidget() {
    return { config: null, identity: null, python: null, running: deferred(), ready: deferred() };
  }

  function deferred() {
    const parts = {};
    parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
    parts.promise.catch(() => {}); // a page that does not wait for it is not bothered with its failure
    return parts;
  }

  const handle = Object.freeze({
    get ready() {
      return widget.ready.promise;
    },
    get identity() {
      return widget.identity;
    },
    /** Listen to an event by its name, or to all as "*". A listener is called with (detail, name). */
    on(name, listener) {
      listeners.set(name, (listeners.get(name) ?? new Set()).add(listener));
      return handle;
    },
    off(name, listener) {
      listeners.get(name)?.delete(listener);
      return handle;
    },
    logout: () => call("logout"),
    refreshIdentity: (options) => call("refreshIdentity", options),
    open: () => call("open"),
    close: () => call("close"),
    /** End the widget; initService() may be called again. */
    shutdown() {
      const { python, running, ready } = widget;
      python?.shutdown();
      widget = newWidget();
      const reason = new StartError("shutdown", "shutdown() came first.", "Call initService() again.");
      running.reject(reason);
      ready.reject(reason);
    },
    debug: () => ({ boot: { ...boot }, ...widget.python?.debug() }),
  });

  /** Call the Python widget, as soon as there is one. */
  async function call(name, ...values) {
    return (await widget.running.promise)[name](...values);
  }

  function emit(name, detail) {
    if (name === "identity:changed") widget.identity = detail;
    if (name === "ready") widget.ready.resolve(detail);
    for (const listener of [...(listeners.get(name) ?? []), ...(listeners.get("*") ?? [])]) {
      try {
        listener(detail, name);
      } catch (error) {
        reportError(error); // the page's own, as if the browser had called the listener
      }
    }
    if (name === "ready" || name === "error") {
      document.dispatchEvent(new CustomEvent(`service:${name}`, { detail, bubbles: true }));
    }
  }

  // --- Starting the widget ---

  /** Start the widget. Further calls return the same handle; one that asks for another provider is an error. */
  function initService(config) {
    if (!widget.config) {
      widget.config = config ?? {};
      start(widget);
    } else if (widget.config.providerId === config?.providerId) {
      console.warn("chatkey: initService() was called again; the widget that is there stays.");
    } else {
      report(alreadyInitialized(widget.config.providerId));
    }
    return handle;
  }

  async function start(starting) {
    const slow = setTimeout(() => report(slowStart()), SLOW);
    try {
      const host = { baseUrl: served.baseUrl, config: starting.config, prefetched: prefetch(starting.config) };
      host.emit = (name, detail) => starting === widget && emit(name, detail);
      const python = await interpreter();
      await activation();
      if (starting !== widget) return; // shut down meanwhile
      starting.python = python.pyimport(ENTRY).start(host);
      starting.running.resolve(starting.python);
    } catch (reason) {
      const error = reason instanceof StartError ? reason : bootFailed(reason);
      starting.running.reject(error);
      starting.ready.reject(error);
      if (starting === widget) report(error);
    } finally {
      clearTimeout(slow);
    }
  }

  function report(error) {
    console.error(`chatkey: ${error.message} ${error.remediation}`);
    emit("error", error.detail);
  }

  /** Ask for the configuration while Python is loading; the widget takes the answer from here. */
  function prefetch({ providerId }) {
    if (typeof providerId !== "string" || !window.isSecureContext) return {};
    const url = `${served.baseUrl}/v1/public/provider/${encodeURIComponent(providerId)}`;
    const response = fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" });
    response.catch(() => {}); // the widget meets the failure when it takes the answer
    return { [url]: response };
  }

  /** A page that is rendered ahead of its visit runs nothing until somebody looks at it. */
  function activation() {
    if (!document.prerendering) return null;
    return new Promise((resolve) => document.addEventListener("prerenderingchange", resolve, { once: true }));
  }

  // --- Bringing Python up ---

  const boot = { state: "idle", from: null, milliseconds: null };
  let files = null; // what is being downloaded
  let booting = null;

  /** The page's one Python. A start that failed may be tried again. */
  function interpreter() {
    booting ??= startPython().catch((reason) => {
      booting = files = null;
      boot.state = "failed";
      throw reason;
    });
    return booting;
  }

  async function startPython() {
    const began = performance.now();
    boot.state = "starting";
    refuseUnusablePage();
    files ??= download();
    const python = await Promise.race([files.blocked.promise, fromSnapshot().catch(fromSources)]);
    // Python's `random` comes out of the snapshot in the same state every time.
    python.pyimport("random").seed();
    Object.assign(boot, { state: "running", milliseconds: Math.round(performance.now() - began) });
    return python;
  }

  function refuseUnusablePage() {
    if (!window.isSecureContext) throw insecureContext();
    try {
      new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)); // the smallest there is
    } catch (cause) {
      throw cspBlocked("WebAssembly (wasm)", "script-src", "'wasm-unsafe-eval'", cause);
    }
  }

  /** All at once, and as soon as the script runs: Pyodide itself would ask for one file after the other. */
  function download() {
    const blocked = deferred(); // rejected when Pyodide would wait for ever, which it does if a file is blocked
    const wasm = Object.assign(document.createElement("link"), {
      rel: "preload",
      as: "fetch",
      crossOrigin: "anonymous",
      href: WASM,
    });
    document.head.append(wasm);
    const loader = Promise.race([blocked.promise, import(`${served.pyodide}pyodide.mjs`)]);
    const runtime = import(`${served.pyodide}pyodide.asm.mjs`);
    const snapshot = read(served.snapshot);
    for (const file of [loader, runtime, snapshot]) file.catch(() => {}); // met where the file is used
    warmUp();
    return { blocked, loader, runtime, snapshot };
  }

  /** A browser starts its key store at the first use, which takes as long as making a key: let it do so meanwhile. */
  function warmUp() {
    const uses = [() => indexedDB.databases(), () => crypto.subtle.digest("SHA-256", new Uint8Array())];
    for (const use of uses) Promise.resolve().then(use).catch(() => {}); // what is missing is met where it is needed
  }

  /** Let the runtime get ready while the snapshot is on its way, and copy it in when both are there. */
  async function fromSnapshot() {
    const { loadPyodide } = await files.loader;
    const memory = new Uint8Array(served.memory);
    const createPyodideModule = async (settings) => {
      const { default: createModule } = await files.runtime;
      const stalled = setTimeout(findWasm, STALLED);
      const module = await createModule(withoutWaiting(settings));
      clearTimeout(stalled);
      memory.set(await files.snapshot);
      return module;
    };
    const python = await loadPyodide({ ...options(), _loadSnapshot: memory, createPyodideModule });
    boot.from = "snapshot";
    return python;
  }

  /** Pyodide waits for ever for a WebAssembly that cannot be loaded; so when it waits long, look whether it is there. */
  function findWasm() {
    request(WASM, "HEAD").catch((reason) => files?.blocked.reject(bootFailed(reason)));
  }

  /** Python's standard library comes later: of it, the snapshot holds all that the widget imports. */
  function withoutWaiting(settings) {
    const [installLibrary, ...others] = settings.preRun;
    const later = { addRunDependency: { value() {} }, removeRunDependency: { value() {} } };
    return { ...settings, preRun: [(module) => void installLibrary(Object.create(module, later)), ...others] };
  }

  /** The long way, when the snapshot is missing or does not fit. */
  async function fromSources(reason) {
    const { loadPyodide } = await files.loader;
    console.warn(`chatkey: starting without the snapshot, which takes seconds longer: ${reason.message}`);
    emit("boot:fallback", { message: reason.message });
    const [python, sources] = await Promise.all([loadPyodide(options()), read(served.sources)]);
    python.unpackArchive(sources, "zip");
    boot.from = "sources";
    return python;
  }

  function options() {
    // No packages are ever loaded, so the list of those that exist is not asked for.
    const lockFileContents = { info: served.lock, packages: {} };
    return { indexURL: served.pyodide, packageBaseUrl: served.pyodide, lockFileContents };
  }

  async function read(url) {
    const response = await request(url, "GET");
    return new Uint8Array(await response.arrayBuffer());
  }

  async function request(url, method) {
    const response = await fetch(url, { method, credentials: "omit" }).catch(() => ({ ok: false, status: "nothing" }));
    if (!response.ok) throw new Error(`${url} answered ${response.status}.`);
    return response;
  }

  function onViolation({ blockedURI, disposition, effectiveDirective }) {
    const ours = [served.pyodide, served.snapshot, served.sources].some((url) => blockedURI.startsWith(url));
    if (ours && disposition === "enforce") {
      files?.blocked.reject(cspBlocked(blockedURI, effectiveDirective, new URL(served.pyodide).origin));
    }
  }

  // --- What can go wrong here, in words for the page's author ---

  function insecureContext() {
    return new StartError(
      "insecure_context",
      `${location.origin} is not a secure context, so the browser gives it no keys.`,
      "Serve the page over https, or from localhost.",
    );
  }

  function cspBlocked(what, directive, source, cause) {
    return new StartError(
      "csp_blocked",
      `The page's Content-Security-Policy blocks ${what}.`,
      `Add ${source} to its ${directive}.`,
      { cause },
    );
  }

  function bootFailed(cause) {
    return new StartError(
      "boot_failed",
      `The widget could not be started: ${cause.message}`,
      `Check that the page can load ${served.pyodide}; an outdated, cached sdk.js is cured by a reload.`,
      { cause, retryable: true },
    );
  }

  function slowStart() {
    return new StartError(
      "boot_failed",
      `The widget has not started after ${SLOW / 1000} s; it is still trying.`,
      `Check the line, and that ${served.pyodide} is served whole and with the right types.`,
      { retryable: true },
    );
  }

  function alreadyInitialized(providerId) {
    return new StartError(
      "already_initialized",
      `This page already runs the widget of provider ${providerId}.`,
      "Call Service.shutdown() before initService() with another providerId.",
    );
  }

  // --- Now ---

  window.Service = handle;
  window.initService = initService;
  document.addEventListener("securitypolicyviolation", onViolation);
  try {
    refuseUnusablePage();
    files = download();
  } catch {
    // Told when a widget is asked for.
  }
  if (window.ServiceConfig) {
    initService(window.ServiceConfig);
  } else {
    Object.defineProperty(window, "ServiceConfig", {
      configurable: true,
      set(config) {
        Object.defineProperty(window, "ServiceConfig", { value: config, writable: true, configurable: true });
        initService(config);
      },
    });
  }
})();
