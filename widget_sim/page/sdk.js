// chatkey's loader: adds the handle `Service` to the page at once, starts Python from a snapshot, and hands over to it.
// Identity, tokens and chat are implemented in Python (chatkey_widget). This file has only what must happen earlier.

(() => {
  "use strict";

  // Filled in by the server: version; baseUrl; the addresses pyodide, snapshot and sources; lock, Pyodide's version.
  const served = /** @type {sdk.Served} */ (/** @type {unknown} */ (/* served */ null));

  const ENTRY = "chatkey_widget.browser.main";
  const LOADED = Symbol.for("chatkey.sdk");
  const LOADER = `${served.pyodide}pyodide.mjs`;
  const WASM = `${served.pyodide}pyodide.asm.wasm`;
  const WASM_HEAD = [0, 97, 115, 109, 1, 0, 0, 0]; // the head of every module; alone, it is the smallest module
  // A module with an externref and a tag, as Python's has: browsers have both since Chrome 96, Firefox 100, Safari 15.2.
  const WASM_NEEDS = [...WASM_HEAD, 1, 8, 2, 96, 0, 1, 111, 96, 0, 0, 13, 3, 1, 0, 1];
  const WASM_VECTOR = [...WASM_HEAD, 1, 5, 1, 96, 0, 1, 123];
  // Pyodide itself requests its WebAssembly file: it appends the file's name to `indexURL`. After `#`, the name has no
  // effect: Pyodide gets the loader from the cache, and does not download the WebAssembly file a second time.
  const NO_WASM = { indexURL: `${LOADER}#`, stdLibURL: `${served.pyodide}python_stdlib.zip` };
  const HEAD = 1024; // bytes; more than Pyodide writes before the memory
  const SLOW = 30_000; // milliseconds
  const SOON = [1000, 2000, 4000];
  const AGAIN = 60_000;
  const LONGEST = 3_600_000;

  // The sentences and the button for people whose browser cannot run Python, or may not load it, in the languages of the
  // widget's own texts.
  /** @type {Partial<Record<chatkey.ErrorCode, Record<string, string>>>} */
  const NOTES = {
    browser_unsupported: {
      en: "The chat is not available in this browser.",
      de: "Der Chat ist in diesem Browser nicht verfügbar.",
      ar: "المحادثة غير متاحة في هذا المتصفح.",
    },
    local_network_blocked: {
      en: "The chat is in your local network, and your browser may keep this page from it. Allow access in the site settings.",
      de: "Der Chat ist in Ihrem lokalen Netzwerk, und Ihr Browser lässt diese Seite vielleicht nicht dorthin. Erlauben Sie den Zugriff in den Website-Einstellungen.",
      ar: "المحادثة موجودة على شبكتك المحلية، وقد يمنع متصفحك هذه الصفحة من الوصول إليها. اسمح بالوصول في إعدادات الموقع.",
    },
  };
  /** @type {Record<string, string>} */
  const HIDE = { en: "Dismiss", de: "Ausblenden", ar: "إخفاء" };

  // Taken now, because the page may replace them later. Promise is the language's own even if the page has replaced it.
  const { clearTimeout, console, Date, fetch, performance, reportError, setTimeout, WebSocket } = window;
  const { parse, stringify } = JSON;
  const Promise = /** @type {PromiseConstructor} */ ((async () => {})().constructor);

  if (window[LOADED]) {
    console.warn("chatkey: this page loads sdk.js twice; the second script does nothing.");
    return;
  }
  window[LOADED] = true;

  /** Why the widget could not start: the reason with which `ready` is rejected, and the detail of the event `error`. */
  class StartError extends Error {
    /**
     * @param {chatkey.ErrorCode} code
     * @param {string} message
     * @param {string} remediation
     * @param {{ retryable?: boolean, cause?: unknown }} more
     */
    constructor(code, message, remediation, { retryable = false, cause } = {}) {
      super(message, { cause });
      this.name = "StartError";
      this.code = code;
      this.phase = /** @type {const} */ ("start");
      this.remediation = remediation;
      this.retryable = retryable;
    }

    get detail() {
      const { code, phase, message, remediation, retryable } = this;
      return { code, phase, message, remediation, retryable };
    }
  }

  // --- State ---

  /** @type {Map<string, Set<Function>>} */
  const listeners = new Map();
  /** @type {sdk.Host["messages"]} */
  const messages = []; // from sign-in windows, until Python receives them itself
  /** @type {sdk.Host["blocked"]} */
  const blocked = []; // addresses blocked by the page's policy, until Python receives the events itself
  let widget = newWidget(); // the page's only widget, from initService() to shutdown()

  /** @returns {sdk.Widget} */
  function newWidget() {
    return { config: null, identity: null, python: null, note: null, failures: 0, giveUp() {}, running: deferred(), ready: deferred() };
  }

  /** @template T @returns {sdk.Deferred<T>} */
  function deferred() {
    const parts = /** @type {sdk.Deferred<T>} */ ({});
    parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
    parts.promise.catch(() => {}); // no unhandled rejection if the page does not wait for it
    return parts;
  }

  /** @type {chatkey.Handle} */
  const handle = Object.freeze({
    get ready() {
      return widget.ready.promise;
    },
    get identity() {
      return widget.identity;
    },
    /**
     * Add a listener for an event, or for all events with "*". It is called with (detail, name).
     * @param {string} name @param {Function} listener
     */
    on(name, listener) {
      listeners.set(name, (listeners.get(name) ?? new Set()).add(listener));
      return handle;
    },
    /** @param {string} name @param {Function} listener */
    off(name, listener) {
      listeners.get(name)?.delete(listener);
      return handle;
    },
    /** Delete the cached token at once, because Python may not have started when the page is left. */
    async logout() {
      if (widget.python) return widget.python.logout();
      forgetMember(widget.config);
      call("logout").catch(() => {}); // the widget reports its failure itself
    },
    /** @param {{ force?: boolean }} [options] */
    refreshIdentity: (options) => call("refreshIdentity", options),
    open: () => call("open"),
    close: () => call("close"),
    /** End the widget; initService() may be called again. */
    shutdown() {
      const { giveUp, note, python, ready, running } = widget;
      if (python) end(python);
      note?.remove();
      giveUp();
      widget = newWidget();
      const message = "shutdown() was called before the widget was ready.";
      const reason = new StartError("shutdown", message, "Call initService() again.");
      running.reject(reason);
      ready.reject(reason);
    },
    /** Return the state of the widget, without secrets; sdk.d.ts lists the members. */
    debug: () => ({
      version: served.version,
      browser: browserFacts(),
      boot: { ...boot, replaced: replaced() },
      ...widget.python?.debug(),
    }),
    /**
     * Call functions with the handle. An array named Service, used before this script loads, has the same method.
     * @param {chatkey.Callback[]} callbacks
     */
    push(...callbacks) {
      for (const callback of callbacks) guarded(callback, handle);
    },
  });

  /**
   * Call the Python widget as soon as it exists. A page that does not wait gets no unhandled rejection.
   * @param {Exclude<keyof sdk.Python, "debug">} name @param {unknown[]} values
   */
  function call(name, ...values) {
    const calling = (async () => (await widget.running.promise)[name](...values))();
    calling.catch(() => {});
    return calling;
  }

  /**
   * Call a function of the page. An error in it is reported as the page's own, as if the browser had called it.
   * @param {Function} callback @param {unknown[]} values
   */
  function guarded(callback, ...values) {
    try {
      callback(...values);
    } catch (error) {
      reportError(error);
    }
  }

  function browserFacts() {
    const { crossOriginIsolated: isolated, document, innerWidth: width, isSecureContext: secure, navigator } = window;
    const { languages, onLine: online, userAgent } = navigator;
    const { visibilityState: visibility } = document;
    const framed = window.parent !== window;
    return { framed, isolated, languages, online, origin: location.origin, secure, userAgent, visibility, width };
  }

  /** @param {sdk.Widget["config"]} config */
  function forgetMember(config) {
    try {
      if (!config) return;
      localStorage.removeItem(`wf_member_token_${config.providerId}`);
      localStorage.setItem(`wf_signed_out_${config.providerId}`, "1");
    } catch {
      // A browser that blocks its storage has no token in it.
    }
  }

  /** @param {keyof chatkey.Events} name @param {unknown} detail */
  function emit(name, detail) {
    if (name === "identity:changed") widget.identity = /** @type {chatkey.Person} */ (detail);
    if (name === "ready") widget.ready.resolve(/** @type {chatkey.Events["ready"]} */ (detail));
    for (const listener of [...(listeners.get(name) ?? []), ...(listeners.get("*") ?? [])]) {
      guarded(listener, detail, name);
    }
    if (name === "ready" || name === "error") {
      document.dispatchEvent(new CustomEvent(`service:${name}`, { detail, bubbles: true }));
    }
  }

  // --- Starting the widget ---

  /**
   * Start the widget. Further calls return the same handle. A call with another provider is an error.
   * @param {Partial<chatkey.Config>} config
   */
  function initService(config) {
    if (!widget.config) {
      widget.config = config ?? {};
      start(widget);
    } else if (widget.config.providerId === config?.providerId) {
      console.warn("chatkey: initService() was called again; the existing widget is kept.");
    } else {
      report(alreadyInitialized(widget.config.providerId));
    }
    return handle;
  }

  /** @param {sdk.Widget} starting */
  async function start(starting) {
    let slow;
    try {
      slow = setTimeout(async () => {
        const error = await withLocalCause(slowStart());
        if (starting === widget && !starting.python) report(error);
      }, SLOW);
      /** @type {sdk.Host} */
      const host = { baseUrl: served.baseUrl, config: starting.config, blocked, messages, prefetched: {}, localBlock };
      host.prefetched = prefetch(starting.config);
      host.emit = (name, detail) => starting === widget && emit(name, detail);
      const python = await interpreter();
      await activation();
      if (starting !== widget) return; // shut down meanwhile
      starting.note?.remove();
      starting.python = python.start(host);
      starting.running.resolve(starting.python);
      if (starting !== widget) end(starting.python); // a listener shut it down while it was starting
    } catch (reason) {
      const error = await withLocalCause(asStartError(/** @type {Error} */ (reason)));
      starting.running.reject(error);
      starting.ready.reject(error);
      if (starting !== widget) return;
      if (!starting.failures) report(error);
      if (NOTES[error.code]) starting.note ??= showNote(/** @type {Record<string, string>} */ (NOTES[error.code]), starting.config);
      if (error.retryable && boot.state === "failed") startAgain(starting);
    } finally {
      clearTimeout(slow);
    }
  }

  /**
   * Start again when the browser is online again, soon for the first times, because during an upgrade the next request
   * may reach a server that has the files, and then after a minute; after each failure, wait twice as long.
   * @param {sdk.Widget} failed
   */
  function startAgain(failed) {
    failed.failures += 1;
    const again = () => {
      failed.giveUp();
      if (failed === widget) start(Object.assign(failed, { running: deferred(), ready: deferred() }));
    };
    const longer = Math.min(AGAIN * 2 ** (failed.failures - SOON.length - 1), LONGEST);
    const waiting = setTimeout(again, SOON[failed.failures - 1] ?? longer);
    window.addEventListener("online", again);
    failed.giveUp = () => {
      clearTimeout(waiting);
      window.removeEventListener("online", again);
    };
  }

  /**
   * End a Python widget and destroy its functions.
   * @param {sdk.Python} python
   */
  function end(python) {
    python.shutdown();
    for (const control of Object.values(python)) control.destroy();
  }

  /** @param {StartError} error */
  function report(error) {
    console.error(`chatkey: ${error.message} ${error.remediation}`);
    boot.error = error.detail;
    emit("error", error.detail);
  }

  /**
   * Request the configuration while Python is loading. The widget uses this response.
   * @param {sdk.Widget["config"]} config @returns {sdk.Host["prefetched"]}
   */
  function prefetch(config) {
    const providerId = config?.providerId;
    if (typeof providerId !== "string" || /\p{Surrogate}/u.test(providerId) || !window.isSecureContext) return {};
    const url = `${served.baseUrl}/v1/public/provider/${encodeURIComponent(providerId)}`;
    const response = fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" });
    response.catch(() => {}); // the widget handles the failure when it uses the response
    return { [url]: response };
  }

  /** Wait until a prerendered page is shown, and until the page has a body. */
  async function activation() {
    const heard = (/** @type {string} */ name) =>
      new Promise((resolve) => document.addEventListener(name, resolve, { once: true }));
    if (document.prerendering) await heard("prerenderingchange");
    if (!document.body) await heard("DOMContentLoaded");
  }

  // --- Starting Python ---

  /** @type {sdk.Boot} */
  const boot = { state: "idle", from: null, milliseconds: null, error: null };
  let files = /** @type {sdk.Files | null} */ (null); // the files that are being downloaded
  let attempt = 0; // browsers remember a module that could not be loaded, so each attempt has addresses of its own
  let booting = /** @type {Promise<{ start(host: sdk.Host): sdk.Python }> | null} */ (null);

  /** Return the entry of the page's only Python interpreter. A failed start may be tried again. */
  function interpreter() {
    booting ??= startPython().catch((reason) => {
      booting = files = null;
      attempt += 1;
      boot.state = "failed";
      throw reason;
    });
    return booting;
  }

  async function startPython() {
    const began = performance.now();
    boot.state = "starting";
    refuseUnusablePage();
    const loading = (files ??= download());
    const coming = fromSnapshot(loading).catch((reason) => fromSources(loading, reason));
    const python = await Promise.race([loading.blocked.promise, coming]);
    // Python's `random` has the same state after every start from the snapshot.
    python.pyimport("random").seed();
    Object.assign(boot, { state: "running", milliseconds: Math.round(performance.now() - began) });
    return python.pyimport(ENTRY);
  }

  function refuseUnusablePage() {
    if (!window.isSecureContext) throw insecureContext();
    if (!window.WebAssembly) throw browserUnsupported("has no WebAssembly");
    try {
      new WebAssembly.Module(Uint8Array.of(...WASM_HEAD));
    } catch (cause) {
      throw cspBlocked("WebAssembly (wasm)", "script-src", "'wasm-unsafe-eval'", cause);
    }
    if (!WebAssembly.validate(Uint8Array.of(...WASM_NEEDS))) throw browserUnsupported("has an old WebAssembly");
  }

  /**
   * Request all files at once, as soon as the script runs. Pyodide itself would request them one after the other.
   * @returns {sdk.Files}
   */
  function download() {
    /** @type {sdk.Deferred<never>} */
    const blocked = deferred(); // rejected if a file is blocked, because Pyodide would wait for ever
    const again = attempt ? `#${attempt}` : "";
    const wasm = WebAssembly.compileStreaming(request(WASM));
    wasm.catch((reason) => blocked.reject(bootFailed(reason)));
    const loader = Promise.race([blocked.promise, import(`${LOADER}${again}`)]);
    const runtime = import(`${served.pyodide}pyodide.asm.mjs${again}`);
    const snapshot = readSnapshot();
    for (const file of [loader, runtime, snapshot]) file.catch(() => {}); // the failure is handled where the file is used
    warmUp();
    return { blocked, loader, runtime, snapshot, wasm };
  }

  /** Use the browser's key store once, because the first use takes as long as creating a key. */
  function warmUp() {
    if (window.origin === "null") return; // such a page has no storage, and Chromium would log an error
    /** @type {(() => Promise<unknown>)[]} */
    const uses = [() => indexedDB.databases(), () => crypto.subtle.digest("SHA-256", new Uint8Array())];
    for (const use of uses) Promise.resolve().then(use).catch(() => {}); // a failure is handled where the store is used
  }

  /**
   * Start the runtime while the snapshot is loading, and copy the snapshot into it when both are there. Pyodide itself
   * gets only the head, because it would hold the whole memory twice.
   * @param {sdk.Files} loading
   */
  async function fromSnapshot(loading) {
    const { loadPyodide } = await loading.loader;
    const head = new Uint8Array(HEAD);
    const createPyodideModule = async (/** @type {sdk.ModuleSettings} */ settings) => {
      const { default: createModule } = await loading.runtime;
      const module = await createModule(withModule(loading, withoutWaiting(settings)));
      restore(module, await loading.snapshot, head);
      return module;
    };
    const python = await loadPyodide({ ...options(), ...NO_WASM, _loadSnapshot: head, createPyodideModule });
    boot.from = "snapshot";
    return python;
  }

  /**
   * Do not wait for Python's standard library: the snapshot contains all modules of it that the widget imports.
   * @param {sdk.ModuleSettings} settings
   */
  function withoutWaiting(settings) {
    const [installLibrary, ...others] = settings.preRun;
    const later = { addRunDependency: { value() {} }, removeRunDependency: { value() {} } };
    const install = (/** @type {sdk.Module} */ module) => installLibrary(Object.create(module, later));
    return { ...settings, preRun: [install, ...others] };
  }

  /**
   * Use the module that is being compiled since the script runs. Pyodide itself would start to compile it after the
   * runtime's script has run.
   * @param {sdk.Files} loading @param {sdk.ModuleSettings} settings
   */
  function withModule(loading, settings) {
    /** @type {sdk.ModuleSettings["instantiateWasm"]} */
    const instantiateWasm = (imports, receive) => {
      const marker = Symbol("error"); // Pyodide's own value for a failed call, as in browsers without WebAssembly's GC
      const isMarker = (/** @type {unknown} */ value) => value === marker;
      Object.assign(imports.env, { Jsv_GetError_import: () => marker, JsvError_Check: isMarker });
      loading.wasm
        .then(async (module) => receive(oneFunctionEach(await WebAssembly.instantiate(module, imports)), module))
        .catch((reason) => loading.blocked.reject(bootFailed(reason)));
      return {};
    };
    return { ...settings, instantiateWasm };
  }

  /**
   * The snapshot refers to functions by their place in the table, where Pyodide looks up each exported function. WebKit
   * has two objects for one function: Pyodide would not find it, and later places would shift.
   * @param {WebAssembly.Instance} instance
   */
  function oneFunctionEach(instance) {
    return hasOneFunctionEach() ? instance : { exports: fromTable(instance.exports) };
  }

  /** Return whether this browser has one object per function. The test module has a function `f` in a table `t`. */
  function hasOneFunctionEach() {
    const type = [1, 4, 1, 96, 0, 0];
    const declared = [3, 2, 1, 0, 4, 4, 1, 112, 0, 1];
    const exported = [7, 9, 2, 1, 102, 0, 0, 1, 116, 1, 0];
    const defined = [9, 7, 1, 0, 65, 0, 11, 1, 0, 10, 4, 1, 2, 0, 11];
    const module = new WebAssembly.Module(Uint8Array.of(...WASM_HEAD, ...type, ...declared, ...exported, ...defined));
    const { f, t } = new WebAssembly.Instance(module).exports;
    return /** @type {WebAssembly.Table} */ (t).get(0) === f;
  }

  /**
   * Return the exports, with the table's own object for every function in the table. A function's name is its number.
   * @param {WebAssembly.Exports} exports
   */
  function fromTable(exports) {
    const table = /** @type {WebAssembly.Table} */ (exports.__indirect_function_table);
    const placed = new Map();
    for (let place = 0; place < table.length; place += 1) placed.set(table.get(place)?.name, table.get(place));
    const one = (/** @type {WebAssembly.ExportValue} */ value) =>
      (typeof value === "function" && placed.get(value.name)) || value;
    return Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, one(value)]));
  }

  /**
   * Copy the snapshot's parts to their places; pyodide/snapshot.mjs describes the format. CPython calls some functions
   * through a helper that Pyodide omits where it does harm (iOS), so this browser's address of the helper is kept.
   * @param {sdk.Module} module @param {Uint8Array} snapshot @param {Uint8Array} head
   */
  function restore(module, snapshot, head) {
    const { HEAPU8, HEAP32, __PyRuntime: runtime, __PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET: offset } = module;
    const trampoline = (runtime + HEAP32[offset / 4]) / 4;
    const kept = HEAP32[trampoline];
    const [count, headLength, heap] = new Uint32Array(snapshot.buffer, 0, 3);
    const places = new Uint32Array(snapshot.buffer, 12, 2 * count);
    let read = 12 + places.byteLength;
    let end = heap;
    const next = (/** @type {number} */ length) => snapshot.subarray(read, (read += length));
    head.set(next(headLength));
    new Uint32Array(head.buffer)[1] = HEAD; // the start of the memory, set to its end: nothing is left to copy
    for (let i = 0; i < places.length; i += 2) {
      const [address, length] = places.subarray(i, i + 2);
      if (address > end) HEAPU8.fill(0, end, address); // only between parts of the heap
      HEAPU8.set(next(length), address);
      end = Math.max(end, address + length);
    }
    HEAP32[trampoline] = kept;
  }

  /**
   * Start without the snapshot, if it is missing or does not fit.
   * @param {sdk.Files} loading @param {Error} reason
   */
  async function fromSources(loading, reason) {
    const { loadPyodide } = await loading.loader;
    console.warn(`chatkey: starting without the snapshot, which takes seconds longer: ${reason.message}`);
    emit("boot:fallback", { message: reason.message });
    const [python, sources] = await Promise.all([loadPyodide(options()), read(served.sources)]);
    python.unpackArchive(sources, "zip");
    boot.from = "sources";
    return python;
  }

  function options() {
    // No packages are ever loaded, so the list of packages is not requested.
    const lockFileContents = { info: served.lock, packages: {} };
    return { indexURL: served.pyodide, packageBaseUrl: served.pyodide, lockFileContents, jsglobals: globals() };
  }

  /** Return the globals that Python finds in `js`: the page's, except for functions that the page may have replaced. */
  function globals() {
    /** @type {Record<PropertyKey, unknown>} */
    const own = { Date, JSON: { parse, stringify }, Promise, WebSocket, clearTimeout, fetch, setTimeout };
    return new Proxy(/** @type {Record<PropertyKey, unknown>} */ (/** @type {unknown} */ (window)), {
      get(page, name) {
        const value = Object.hasOwn(own, name) ? own[name] : page[name];
        return typeof value === "function" && !value.prototype ? value.bind(page) : value; // except classes
      },
    });
  }

  /** Read the snapshot into a buffer of its size, where browsers can: they would collect it in pieces, and copy these. */
  async function readSnapshot() {
    const response = await request(served.snapshot);
    const reader = byteReader(response);
    if (!reader) return new Uint8Array(await response.arrayBuffer());
    let snapshot = new Uint8Array(served.snapshotSize);
    for (let read = 0; read < snapshot.length; ) {
      const { done, value } = await reader.read(snapshot.subarray(read));
      if (done) throw new Error(`${served.snapshot} is incomplete.`);
      read += value.length;
      snapshot = new Uint8Array(value.buffer);
    }
    return snapshot;
  }

  /** @param {Response} response */
  function byteReader({ body }) {
    try {
      return body?.getReader({ mode: "byob" });
    } catch {
      return null; // Safari
    }
  }

  /** @param {string} url */
  async function read(url) {
    const response = await request(url);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** @param {string} url */
  async function request(url) {
    const response = await fetch(url, { credentials: "omit" }).catch(() => null);
    if (!response) throw new Error(`${url} could not be loaded.`);
    if (!response.ok) throw new Error(`${url} answered with status ${response.status}.`);
    return response;
  }

  /** @param {SecurityPolicyViolationEvent} event */
  function onViolation({ blockedURI, disposition, effectiveDirective }) {
    const ours = [served.pyodide, served.snapshot, served.sources].some((url) => blockedURI.startsWith(url));
    if (disposition !== "enforce") return;
    if (!widget.python) blocked.push([blockedURI, effectiveDirective]);
    if (ours) {
      files?.blocked.reject(cspBlocked(blockedURI, effectiveDirective, new URL(served.pyodide).origin));
    }
  }

  /** Keep messages that arrive before Python runs. A sign-in window may outlive the page that opened it. */
  function onMessage(/** @type {MessageEvent} */ event) {
    if (!widget.python && event.data?.type === "wf:oauth") messages.push(event);
  }

  // --- Addresses in the local network ---

  /**
   * Return why the browser may keep this page from an address on this computer or in the local network: the permission is
   * denied, or the person has not decided. Return null if this is no reason. To the page, a blocked request looks like any
   * failed request.
   * @param {string} address @returns {Promise<"denied" | "prompt" | null>}
   */
  async function localBlock(address) {
    const host = hostOf(address);
    if (!nearness(host)) return null;
    const name = nearness(host) === 2 ? "loopback-network" : "local-network";
    const state = (await permission(name)) ?? (await permission("local-network-access")); // the name before Chrome 145
    if (state === "denied") return state;
    return state === "prompt" && nearness(location.hostname) < nearness(host) ? state : null;
  }

  /** @param {string} address */
  function hostOf(address) {
    try {
      return new URL(address).hostname;
    } catch {
      return ""; // an address that no request can be sent to
    }
  }

  /**
   * Return 2 for this computer, 1 for the local network, and 0 for all other hosts.
   * @param {string} host
   */
  function nearness(host) {
    if (/^(.+\.)?localhost$|^127\.[\d.]+$|^\[::1\]$/.test(host)) return 2;
    const isLocal =
      /\.local$|^(10|192\.168|169\.254|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$|^\[f([cd]|e[89ab])/;
    return isLocal.test(host) ? 1 : 0;
  }

  /**
   * Return the state of a permission, or null if the browser does not know it.
   * @param {string} name
   */
  async function permission(name) {
    try {
      return (await navigator.permissions.query({ name: /** @type {PermissionName} */ (name) })).state;
    } catch {
      return null;
    }
  }

  /**
   * Return the error that names the cause, if the browser keeps the page from the widget's files.
   * @param {StartError} error
   */
  async function withLocalCause(error) {
    if (error.code !== "boot_failed" || !(await localBlock(served.pyodide))) return error;
    return new StartError(
      "local_network_blocked",
      `The page could not load ${served.pyodide}, which is on this computer or in the local network.`,
      "If the service runs, allow the page to access the local network in the browser's site settings.",
      { cause: error, retryable: true },
    );
  }

  // --- A widget that cannot start ---

  /**
   * Show a sentence in the corner of the page, which the person can close. Without Python, there is nothing else to show.
   * @param {Record<string, string>} texts @param {sdk.Widget["config"]} config
   */
  function showNote(texts, config) {
    const wishes = [config?.locale, ...(navigator.languages ?? [])].map((tag) => String(tag).slice(0, 2).toLowerCase());
    const language = wishes.find((wish) => Object.hasOwn(texts, wish)) ?? "en";
    const note = document.createElement("chatkey-widget");
    const close = document.createElement("button");
    const place = { all: "initial", position: "fixed", right: "20px", bottom: "20px", zIndex: "2147483000" };
    const shape = { display: "flex", gap: "12px", maxWidth: "calc(100vw - 72px)", padding: "12px 16px" };
    const look = { colorScheme: "light dark", background: "Canvas", color: "CanvasText", font: "15px system-ui" };
    Object.assign(note.style, place, shape, look, { alignItems: "center", border: "1px solid", borderRadius: "12px" });
    Object.assign(close.style, { all: "revert", flex: "none", minWidth: "32px", minHeight: "32px" });
    Object.assign(note, { lang: language, dir: language === "ar" ? "rtl" : "ltr", textContent: `${texts[language]} ` });
    Object.assign(close, { type: "button", textContent: "×", ariaLabel: HIDE[language], onclick: () => note.remove() });
    note.setAttribute("role", "status");
    note.append(close);
    const show = () => document.body.append(note);
    if (document.body) show();
    else document.addEventListener("DOMContentLoaded", show, { once: true });
    return note;
  }

  // --- Errors, with messages for the page's author ---

  /**
   * Safari got vectors in WebAssembly together with the syntax that Python's script uses. Where a browser has them, a
   * script with a syntax error is spoilt.
   * @param {Error} reason
   */
  function asStartError(reason) {
    if (reason instanceof StartError) return reason;
    const isOld = reason?.name === "SyntaxError" && !WebAssembly.validate(Uint8Array.of(...WASM_VECTOR));
    return isOld ? browserUnsupported("cannot read Python's script", reason) : bootFailed(reason);
  }

  /** @param {string} why @param {unknown} [cause] */
  function browserUnsupported(why, cause) {
    return new StartError(
      "browser_unsupported",
      `This browser ${why}, so it cannot run the widget.`,
      "Use a browser of 2023 or later. In iOS, Lockdown Mode switches WebAssembly off.",
      { cause },
    );
  }

  function insecureContext() {
    return new StartError(
      "insecure_context",
      `${location.origin} is not a secure context, so the browser gives the page no keys.`,
      "Serve the page over https, or from localhost.",
    );
  }

  /** @param {string} what @param {string} directive @param {string} source @param {unknown} [cause] */
  function cspBlocked(what, directive, source, cause) {
    return new StartError(
      "csp_blocked",
      `The page's Content-Security-Policy blocks ${what}.`,
      `Add ${source} to its ${directive}.`,
      { cause },
    );
  }

  /** Return the browser functions that the page has replaced. That is usually harmless, but can explain a failure. */
  function replaced() {
    const own = (/** @type {unknown} */ value) => /\[native code\]\s*}$/.test(Function.prototype.toString.call(value));
    return Object.entries({
      Date: window.Date,
      "JSON.parse": JSON.parse,
      "JSON.stringify": JSON.stringify,
      Promise: window.Promise,
      WebSocket: window.WebSocket,
      fetch: window.fetch,
      setTimeout: window.setTimeout,
    }).flatMap(([name, value]) => (typeof value === "function" && own(value) ? [] : [name]));
  }

  function suspects() {
    const names = replaced().join(", ");
    return names && ` (The page has replaced ${names}. Load sdk.js before the script that does this.)`;
  }

  /** @param {Error} cause */
  function bootFailed(cause) {
    return new StartError(
      "boot_failed",
      `The widget could not be started: ${cause.message}${suspects()}`,
      `Check that the page can load ${served.pyodide}. If the browser has cached an outdated sdk.js, reload the page.`,
      { cause, retryable: true },
    );
  }

  function slowStart() {
    return new StartError(
      "boot_failed",
      `The widget has not started after ${SLOW / 1000} s; it is still trying.${suspects()}`,
      `Check the network, and that ${served.pyodide} is served completely and with the right content types.`,
      { retryable: true },
    );
  }

  /** @param {string | undefined} providerId */
  function alreadyInitialized(providerId) {
    return new StartError(
      "already_initialized",
      `This page already runs the widget of provider ${providerId}.`,
      "Call Service.shutdown() before initService() with another providerId.",
    );
  }

  // --- Start ---

  const early = Array.isArray(window.Service) ? window.Service : [];
  window.Service = handle;
  window.initService = initService;
  handle.push(...early);
  document.addEventListener("securitypolicyviolation", onViolation);
  window.addEventListener("message", onMessage);
  try {
    refuseUnusablePage();
    files = download();
  } catch {
    // Reported when a widget is requested.
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
