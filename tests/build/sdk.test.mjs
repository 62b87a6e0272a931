// What sdk.js does on a page before, while and after Python starts. Run by test_sdk.py, one pytest item per test.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CONFIG, Page, SERVED, settled } from "./page.mjs";

test("the handle and initService are there at once, before any file has arrived", () => {
  const page = new Page();

  const handle = page.load();

  assert.equal(page.window.Service, handle);
  assert.equal(typeof page.window.initService, "function");
  assert.equal(handle.identity, null);
});

test("no global named logout is put on the page", () => {
  const page = new Page();
  const before = new Set(Object.keys(page.window));

  page.load();

  const added = Object.getOwnPropertyNames(page.window).filter((name) => !before.has(name));
  assert.deepEqual(added.sort(), ["Service", "ServiceConfig", "initService"]);
});

test("all files are asked for at once and from the assets address", () => {
  const page = new Page();

  page.load();

  assert.deepEqual(page.requests, [
    `${SERVED.pyodide}pyodide.asm.wasm`,
    `${SERVED.pyodide}pyodide.mjs`,
    `${SERVED.pyodide}pyodide.asm.mjs`,
    SERVED.snapshot,
  ]);
});

test("a ServiceConfig set before the script starts the widget", async () => {
  const page = new Page({ window: { ServiceConfig: CONFIG } });

  page.load();
  await settled();

  assert.equal(page.hosts.length, 1);
  assert.equal(page.hosts[0].entry, "chatkey_widget.browser.main");
  assert.equal(page.hosts[0].baseUrl, SERVED.baseUrl);
  assert.equal(page.hosts[0].config, CONFIG);
});

test("a ServiceConfig set after the script starts the widget", async () => {
  const page = new Page();
  page.load();

  page.window.ServiceConfig = CONFIG;
  await settled();

  assert.equal(page.hosts[0].config, CONFIG);
  assert.equal(page.window.ServiceConfig, CONFIG);
});

test("Python starts from the snapshot, with random seeded anew", async () => {
  const page = new Page();
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(page.started, ["snapshot"]);
  const memory = [...page.pyodide.HEAPU8];
  assert.deepEqual(memory, [...Array(8).fill(0), 21, 22, 23, 24, ...Array(28).fill(0), 31, 32, 33, 34, ...Array(20).fill(0)]);
  assert.equal(page.seeded, 1);
});

test("a browser that cannot read bytes into a buffer starts from the snapshot, too", async () => {
  const page = new Page();
  page.bytes = false;
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(page.started, ["snapshot"]);
  assert.deepEqual([...page.pyodide.HEAPU8.slice(40, 44)], [31, 32, 33, 34]);
});

test("a snapshot that ends too early is not used", async () => {
  const page = new Page();
  page.load({ ...SERVED, snapshotSize: SERVED.snapshotSize + 1 });

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(page.started, ["sources"]);
  assert.match(page.console[0], /widget-1\.snapshot is incomplete/);
});

test("the heap is zero between the parts of the snapshot, and the memory below it stays", async () => {
  const page = new Page();
  page.pyodide.HEAPU8.fill(9, 12, 60);
  page.load();

  page.window.initService(CONFIG);
  await settled();

  const memory = [...page.pyodide.HEAPU8.slice(8, 60)];
  assert.deepEqual(memory, [21, 22, 23, 24, ...Array(24).fill(9), 0, 0, 0, 0, 31, 32, 33, 34, ...Array(16).fill(9)]);
});

test("Pyodide gets the snapshot's head, behind which there is nothing that it could copy", async () => {
  const page = new Page();
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual([...page.head.slice(0, 4)], [1, 2, 3, 4]);
  assert.equal(new Uint32Array(page.head.buffer)[1], page.head.length);
});

test("where a function in WebAssembly's table is another object, Pyodide gets the table's", async () => {
  const page = new Page({ twoFunctions: true });
  const named = (name) => Object.defineProperty(() => {}, "name", { value: name });
  const placed = [null, named("7"), named("8")];
  const table = { length: 3, get: (place) => placed[place] };
  const [exported, alone, memory] = [named("8"), named("9"), { buffer: 1 }];
  const exports = { __indirect_function_table: table, exported, alone, memory };
  page.wasm = exports;
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual({ ...page.exports }, { __indirect_function_table: table, exported: placed[2], alone, memory });
  assert.deepEqual(page.started, ["snapshot"]);
});

test("where they are one object, Pyodide gets the exports as they are", async () => {
  const page = new Page();
  const exports = {};
  page.wasm = exports;
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.equal(page.exports, exports);
});

test("the address of CPython's helper for calls stays what Pyodide found good for this browser", async () => {
  const page = new Page();
  page.pyodide.HEAP32[1] = 8;
  page.pyodide.HEAP32[(32 + 8) / 4] = 1234;
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.equal(page.pyodide.HEAP32[(32 + 8) / 4], 1234);
});

test("what a sign-in window says before Python runs is handed to the widget, and nothing else", async () => {
  const page = new Page({ window: { ServiceConfig: CONFIG } });
  page.load();
  const said = (data) => Object.assign(new Event("message"), { data });
  const ours = said({ type: "wf:oauth", nonce: "n" });

  for (const event of [said("hello"), said(null), ours]) page.heard.dispatchEvent(event);
  await settled();

  assert.deepEqual([...page.hosts[0].messages], [ours]);
});

test("the configuration is asked for while Python loads, at the base address and with the id escaped", async () => {
  const page = new Page();
  page.load();

  page.window.initService({ providerId: "a/b" });
  await settled();

  const url = `${SERVED.baseUrl}/v1/public/provider/a%2Fb`;
  assert.deepEqual(Object.keys(page.hosts[0].prefetched), [url]);
  assert.ok(page.requests.includes(url));
});

test("a configuration without a providerId goes to Python to be judged, and nothing is asked for ahead", async () => {
  const page = new Page();
  page.load();

  page.window.initService(undefined);
  await settled();

  assert.deepEqual(Object.keys(page.hosts[0].prefetched), []);
  assert.deepEqual(Object.keys(page.hosts[0].config), []);
});

test("calls made before Python runs are kept and made in order", async () => {
  const page = new Page();
  const handle = page.load();

  const asked = [handle.refreshIdentity({ force: true }), handle.open(), handle.logout()];
  assert.deepEqual(page.calls, []);
  page.window.initService(CONFIG);
  await Promise.all(asked);

  assert.deepEqual(page.calls, [["refreshIdentity", { force: true }], ["open"], ["logout"]]);
});

test("ready settles, identity is kept and both kinds of event are fired when Python says so", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();
  const visitor = { identity: "visitor", uid: "v_1" };

  page.hosts[0].emit("identity:changed", visitor);
  page.hosts[0].emit("ready", visitor);

  assert.equal(await handle.ready, visitor);
  assert.equal(handle.identity, visitor);
  assert.deepEqual(page.events, [["identity:changed", visitor], ["ready", visitor]]);
  assert.deepEqual(page.dom, [["service:ready", visitor]]);
});

test("a listener is called by name with (detail, name), and off takes it off", async () => {
  const page = new Page();
  const handle = page.load();
  const heard = [];
  const kept = [];
  const listener = (...values) => heard.push(values);
  page.window.initService(CONFIG);
  await settled();

  handle.on("token:used", ({ kind }) => kept.push(kind));
  assert.equal(handle.on("token:used", listener), handle);
  page.hosts[0].emit("token:used", { kind: "visitor" });
  assert.equal(handle.off("token:used", listener), handle);
  page.hosts[0].emit("token:used", { kind: "member" });

  assert.deepEqual(heard, [[{ kind: "visitor" }, "token:used"]]);
  assert.deepEqual(kept, ["visitor", "member"]);
});

test("a listener that throws is the page's error and stops nobody else", async () => {
  const page = new Page();
  const handle = page.load();
  const thrown = new Error("the page's own");
  let others = 0;
  handle.on("ready", () => {
    throw thrown;
  });
  handle.on("ready", () => others++);
  page.window.initService(CONFIG);
  await settled();

  page.hosts[0].emit("ready", {});

  assert.equal(others, 1);
  assert.deepEqual(page.reported, [thrown]);
});

test("F070: initService again returns the same handle and starts nothing", async () => {
  const page = new Page();
  page.load();

  const first = page.window.initService(CONFIG);
  const second = page.window.initService({ ...CONFIG });
  await settled();

  assert.equal(first, second);
  assert.equal(page.hosts.length, 1);
  assert.deepEqual(page.codes, []);
  assert.match(page.console[0], /again/);
});

test("F070: initService for another provider is already_initialized, and the first widget stays", async () => {
  const page = new Page();
  page.load();

  page.window.initService(CONFIG);
  page.window.initService({ providerId: "other" });
  await settled();

  assert.deepEqual(page.codes, ["already_initialized"]);
  assert.match(page.events[0][1].message, /shop/);
  assert.deepEqual(page.hosts.map((host) => host.config), [CONFIG]);
});

test("F071: a second script on the page is inert", async () => {
  const page = new Page({ window: { ServiceConfig: CONFIG } });
  const first = page.load();
  const requests = page.requests.length;

  const second = page.load();
  await settled();

  assert.equal(second, first);
  assert.equal(page.requests.length, requests);
  assert.equal(page.hosts.length, 1);
  assert.match(page.console[0], /twice/);
});

test("an insecure page is refused with insecure_context, and nothing at all is loaded", async () => {
  const page = new Page({ secure: false });
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "insecure_context", phase: "start", retryable: false });

  assert.deepEqual(page.codes, ["insecure_context"]);
  assert.match(page.events[0][1].remediation, /https/);
  assert.equal(page.dom[0][0], "service:error");
  assert.deepEqual(page.requests, []);
  assert.deepEqual(page.hosts, []);
});

test("F075: a page whose policy blocks WebAssembly is told csp_blocked at once, and nothing is loaded", async () => {
  const page = new Page({ wasm: false });
  const handle = page.load();

  page.window.initService({ ...CONFIG, providerId: 1 });
  await assert.rejects(handle.ready, { code: "csp_blocked" });

  assert.match(page.events[0][1].message, /wasm/);
  assert.match(page.events[0][1].remediation, /'wasm-unsafe-eval'.*script-src/);
  assert.deepEqual(page.requests, []);
});

test("a provider id with half a character starts nothing that could throw", async () => {
  const page = new Page();
  page.load();

  page.window.initService({ providerId: "shop\ud83d" });
  await settled();

  assert.deepEqual(page.codes, []);
  assert.equal(page.hosts.length, 1);
});

const TAG = 1; // the last byte of the module with which the script looks for tags
const VECTOR = 123;

/** Check that the person reads one sentence, and can close it. */
async function readsThatItIsNotAvailable(page) {
  page.window.navigator.languages = ["fr", "de-AT"];
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "browser_unsupported", retryable: false });

  assert.deepEqual(page.codes, ["browser_unsupported"]);
  const [note] = page.shown;
  assert.deepEqual([note.lang, note.attributes.role], ["de", "status"]);
  assert.match(note.textContent, /^Der Chat ist in diesem Browser nicht verfügbar/);
  note.children[0].onclick();
  assert.deepEqual(page.shown, []);
}

test("F225: a person with a browser without WebAssembly reads one sentence, and can close it", async () => {
  await readsThatItIsNotAvailable(new Page({ window: { WebAssembly: undefined } }));
});

test("F225: a person with a browser with an old WebAssembly reads one sentence, and can close it", async () => {
  await readsThatItIsNotAvailable(new Page({ lacks: [TAG] }));
});

test("F225: a person with a browser that cannot read Python's script reads one sentence, and can close it", async () => {
  const page = new Page({ lacks: [VECTOR] });
  page.importFile = async () => Promise.reject(new SyntaxError("Unexpected token '{'"));
  await readsThatItIsNotAvailable(page);
});

test("F225: shutdown takes the sentence away, and a page's locale comes before the browser's languages", async () => {
  const page = new Page({ lacks: [TAG] });
  const handle = page.load();
  page.window.initService({ ...CONFIG, locale: "ar" });
  await assert.rejects(handle.ready);
  const [note] = page.shown;

  handle.shutdown();

  assert.equal(note.dir, "rtl");
  assert.deepEqual(page.shown, []);
});

test("F078: a script with a syntax error in a current browser is spoilt", async () => {
  const page = new Page();
  page.importFile = async () => Promise.reject(new SyntaxError("Unexpected token '<'"));
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.deepEqual(page.shown, []);
});

test("F229: a page that was opened offline starts the widget when the browser is online", async () => {
  const page = new Page();
  const runtime = `${SERVED.pyodide}pyodide.asm.mjs`;
  page.missing.add(runtime);
  const handle = page.load();
  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed", retryable: true });
  page.pass(1000);
  await settled();
  page.heard.dispatchEvent(new Event("online"));
  await settled();
  page.missing.clear();

  page.heard.dispatchEvent(new Event("online"));
  await settled();

  assert.equal(page.hosts.length, 1);
  assert.deepEqual(page.codes, ["boot_failed"]);
  const again = page.requests.filter((url) => url.startsWith(`${runtime}#`));
  assert.deepEqual(again, [`${runtime}#1`, `${runtime}#2`, `${runtime}#3`]);
});

test("F229: a file that a server of another release lacks is asked for again after 1, 2 and 4 s, and then a minute", async () => {
  const page = new Page();
  page.missing.add(SERVED.snapshot).add(SERVED.sources);
  const handle = page.load();
  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  for (const wait of [1000, 2000, 4000, 60_000]) {
    assert.equal(page.hosts.length, 0);
    if (wait === 60_000) page.missing.clear();
    page.pass(wait);
    await settled();
  }

  assert.equal(page.requests.filter((url) => url === SERVED.snapshot).length, 5);
  assert.equal(page.hosts.length, 1);
  assert.deepEqual(page.codes, ["boot_failed"]);
});

test("F229: after shutdown, nothing waits to start the widget again", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.mjs`);
  const handle = page.load();
  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });
  page.missing.clear();

  handle.shutdown();
  page.heard.dispatchEvent(new Event("online"));
  await settled();

  assert.deepEqual(page.timers.filter(Boolean), []);
  assert.equal(page.hosts.length, 0);
});

const LOCAL = { ...SERVED, pyodide: "http://localhost:8000/assets/pyodide-1/" };

/** Start a widget whose files are at this address and cannot be loaded, and return the page. */
async function withoutFiles(pyodide, options) {
  const page = new Page(options);
  page.missing.add(`${pyodide}pyodide.mjs`);
  const handle = page.load({ ...SERVED, pyodide });
  page.window.initService(CONFIG);
  await assert.rejects(handle.ready);
  return page;
}

const DENIED = { "loopback-network": "denied", "local-network": "denied" };
const UNDECIDED = { "loopback-network": "prompt", "local-network": "prompt" };
const NEAR = ["localhost", "chat.localhost", "127.0.0.1", "127.8.0.1", "[::1]"];
const LOCALS = ["10.1.2.3", "172.16.0.1", "172.31.9.9", "192.168.1.2", "169.254.7.7", "100.64.0.1", "100.127.1.1"];
const NAMED = ["printer.local", "[fd00::2]", "[fc00::1]", "[fe80::1]"];
const FAR = ["chat.example", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "11.0.0.1", "127.example", "10.example", "[2001:db8::1]"];

test("F249: a page that the browser keeps from its files is told local_network_blocked", async () => {
  for (const host of [...NEAR, ...LOCALS, ...NAMED]) {
    const page = await withoutFiles(`http://${host}/pyodide-1/`, { permissions: DENIED });

    assert.deepEqual([host, ...page.codes], [host, "local_network_blocked"]);
    assert.ok(page.events[0][1].message.includes(host));
  }
});

test("F249: files that are not in the local network and cannot be loaded are boot_failed", async () => {
  for (const host of FAR) {
    const page = await withoutFiles(`http://${host}/pyodide-1/`, { permissions: DENIED });

    assert.deepEqual([host, ...page.codes], [host, "boot_failed"]);
  }
});

/** Return the codes of a page at this host, whose files are on this computer and cannot be loaded. */
async function codesAt(hostname, permissions) {
  const page = await withoutFiles(LOCAL.pyodide, { permissions, hostname });
  return page.codes;
}

test("F249: where the permission for this computer is granted, it is not the cause", async () => {
  const permissions = { "loopback-network": "granted", "local-network": "denied" };

  assert.deepEqual(await codesAt("shop.example", permissions), ["boot_failed"]);
});

test("F249: browsers before Chrome 145 have one permission, and browsers before Chrome 142 have none", async () => {
  assert.deepEqual(await codesAt("shop.example", { "local-network-access": "denied" }), ["local_network_blocked"]);
  assert.deepEqual(await codesAt("shop.example", {}), ["boot_failed"]);
});

test("F249: without a decision of the person, only a page that is farther away needs the permission", async () => {
  assert.deepEqual(await codesAt("shop.example", UNDECIDED), ["local_network_blocked"]);
  assert.deepEqual(await codesAt("192.168.1.2", UNDECIDED), ["local_network_blocked"]);
  assert.deepEqual(await codesAt("127.0.0.1", UNDECIDED), ["boot_failed"]);
});

test("F249: the person reads one sentence, which goes away when the widget starts", async () => {
  const page = await withoutFiles(LOCAL.pyodide, { permissions: DENIED });
  const texts = page.shown.map((note) => note.textContent);
  page.missing.clear();

  page.heard.dispatchEvent(new Event("online"));
  await settled();

  assert.equal(texts.length, 1);
  assert.match(texts[0], /^The chat is in your local network/);
  assert.equal(page.hosts.length, 1);
  assert.deepEqual(page.shown, []);
});

test("F249: while the browser asks the person, a slow start is local_network_blocked, too", async () => {
  const page = new Page({ permissions: UNDECIDED });
  page.importFile = () => new Promise(() => {});
  page.load(LOCAL);
  page.window.initService(CONFIG);

  page.pass(30_000);
  await settled();

  assert.deepEqual(page.codes, ["local_network_blocked"]);
});

test("F249: the widget can ask about any address, also about one that is none", async () => {
  const page = new Page({ permissions: DENIED });
  page.load();
  page.window.initService(CONFIG);
  await settled();

  const [{ localBlock }] = page.hosts;

  const addresses = ["ws://127.0.0.1/v1", "https://chat.example", "http://["];
  assert.deepEqual(await Promise.all(addresses.map(localBlock)), ["denied", null, null]);
});

test("F076: a file that the page's policy blocks is csp_blocked, with the directive and the source to add", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);

  page.document.dispatchEvent(violation({ blockedURI: `${SERVED.pyodide}pyodide.asm.wasm` }));
  await assert.rejects(handle.ready, { code: "csp_blocked" });

  assert.match(page.events[0][1].message, /pyodide\.asm\.wasm/);
  assert.equal(page.events[0][1].remediation, "Add https://cdn.example to its connect-src.");
});

test("F077: what else the policy blocks or only reports does not concern the widget", async () => {
  const page = new Page();
  page.load();
  page.window.initService(CONFIG);

  page.document.dispatchEvent(violation({ blockedURI: "https://elsewhere.example/x.js" }));
  page.document.dispatchEvent(violation({ blockedURI: SERVED.snapshot, disposition: "report" }));
  await settled();

  assert.equal(page.hosts.length, 1);
  assert.deepEqual(page.codes, []);
});

test("F078: without a snapshot the widget starts from its sources, and says so", async () => {
  const page = new Page();
  page.missing.add(SERVED.snapshot);
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(page.started, ["sources"]);
  assert.equal(page.hosts.length, 1);
  assert.equal(page.events[0][0], "boot:fallback");
  assert.match(page.events[0][1].message, /widget-1\.snapshot answered with status 404/);
  assert.match(page.console[0], /without the snapshot/);
  assert.equal(page.window.Service.debug().boot.from, "sources");
});

test("F078: without Pyodide's loader it is boot_failed, and the file is named", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.mjs`);
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed", phase: "start", retryable: true });

  assert.deepEqual(page.codes, ["boot_failed"]);
  assert.match(page.events.at(-1)[1].message, /pyodide\.mjs/);
  assert.equal(handle.debug().boot.state, "failed");
});

test("F078: without Pyodide's runtime it is boot_failed, and the file is named", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.asm.mjs`);
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.events.at(-1)[1].message, /pyodide\.asm\.mjs/);
});

test("F078: a WebAssembly that cannot be loaded is boot_failed, which names it", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.asm.wasm`);
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.events.at(-1)[1].message, /pyodide\.asm\.wasm answered with status 404/);
  assert.deepEqual(page.started, []);
});

test("F078: a WebAssembly that is spoilt is boot_failed, in the browser's words", async () => {
  const page = new Page();
  page.window.WebAssembly.compileStreaming = async () => {
    throw new Error("expected magic word");
  };
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.events.at(-1)[1].message, /expected magic word/);
});

test("F078: a WebAssembly that the browser takes slowly is waited for", async () => {
  const page = new Page();
  const compiler = Promise.withResolvers();
  page.window.WebAssembly.compileStreaming = () => compiler.promise;
  page.load();
  page.window.initService(CONFIG);
  await settled();
  const before = [...page.hosts];

  compiler.resolve({});
  await settled();

  assert.deepEqual(before, []);
  assert.deepEqual(page.codes, []);
  assert.equal(page.hosts.length, 1);
});

test("F078: a WebAssembly that the browser cannot instantiate is boot_failed, in the browser's words", async () => {
  const page = new Page();
  page.window.WebAssembly.instantiate = async () => {
    throw new Error("out of memory");
  };
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.events.at(-1)[1].message, /out of memory/);
});

test("what is asked of a widget that started leaves no timer behind", async () => {
  const page = new Page();
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(Object.keys(page.timers), []);
});

test("a call on a page without a widget is rejected with the reason", async () => {
  const page = new Page({ secure: false });
  const handle = page.load();

  page.window.initService(CONFIG);

  await assert.rejects(handle.open(), { code: "insecure_context" });
});

test("a logout before Python runs deletes the cached token at once, and is told to the widget when it runs", async () => {
  const removed = [];
  const page = new Page({ window: { localStorage: { removeItem: (key) => removed.push(key) } } });
  const handle = page.load();

  page.window.initService(CONFIG);
  await handle.logout();
  const atOnce = [...removed, page.calls.length];
  await settled();

  assert.deepEqual(atOnce, ["wf_member_token_shop", 0]);
  assert.deepEqual(page.calls, [["logout"]]);
});

test("a page whose widget cannot start may log out all the same", async () => {
  const page = new Page({ secure: false });
  const handle = page.load();

  page.window.initService(CONFIG);

  await handle.logout();
});

test("F078: a start that takes long is reported, and goes on", async () => {
  const page = new Page();
  const handle = page.load();
  const load = page.loadPyodide.bind(page);
  const line = Promise.withResolvers();
  page.loadPyodide = (options) => line.promise.then(() => load(options));
  page.window.initService(CONFIG);
  await settled();

  page.pass(30000);
  line.resolve();
  await settled();

  assert.deepEqual(page.codes, ["boot_failed"]);
  assert.match(page.events[0][1].message, /still trying/);
  assert.equal(page.hosts.length, 1);
  assert.deepEqual(Object.keys(page.timers), []);
  assert.equal(handle.debug().boot.state, "running");
});

test("F083: a page rendered ahead of its visit starts no widget until somebody looks at it", async () => {
  const page = new Page({ prerendering: true });
  page.load();
  page.window.initService(CONFIG);
  await settled();
  assert.deepEqual(page.hosts, []);

  page.document.dispatchEvent(new Event("prerenderingchange"));
  await settled();

  assert.equal(page.hosts.length, 1);
});

test("a page whose body is not there yet starts no widget until it is", async () => {
  const page = new Page();
  page.document.body = null;
  page.load();
  page.window.initService(CONFIG);
  await settled();
  assert.deepEqual(page.hosts, []);

  page.document.dispatchEvent(new Event("DOMContentLoaded"));
  await settled();

  assert.equal(page.hosts.length, 1);
});

test("F073: after shutdown another widget may be started, in the same Python", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();

  handle.shutdown();
  page.window.initService({ providerId: "other" });
  await settled();

  assert.deepEqual(page.calls, [["shutdown"]]);
  assert.deepEqual(page.destroyed, ["logout", "refreshIdentity", "shutdown", "open", "close", "debug"]);
  assert.deepEqual(page.hosts.map((host) => host.config.providerId), ["shop", "other"]);
  assert.equal(page.started.length, 1);
});

test("a widget that was shut down while it was starting never starts, nor speaks", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);
  const { ready } = handle;

  handle.shutdown();
  await settled();

  await assert.rejects(ready, { code: "shutdown" });
  assert.deepEqual(page.hosts, []);
  assert.deepEqual(page.events, []);
});

test("F073: a widget that was shut down is not heard any more", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();

  handle.shutdown();
  page.hosts[0].emit("identity:changed", { identity: "member" });

  assert.deepEqual(page.events, []);
  assert.equal(handle.identity, null);
});

test("F073: a widget that is shut down out of the first it tells is ended all the same", async () => {
  const page = new Page();
  const start = page.startWidget.bind(page);
  page.startWidget = (entry, host) => {
    host.emit("error", { code: "config_invalid" });
    return start(entry, host);
  };
  const handle = page.load();
  handle.on("error", () => handle.shutdown());

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(page.calls, [["shutdown"]]);
  assert.equal(page.destroyed.length, 6);
});

test("F078: a slow start that the page gave up is not told any more", async () => {
  const page = new Page();
  page.loadPyodide = () => new Promise(() => {});
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();

  handle.shutdown();
  page.pass(30000);

  assert.deepEqual(page.codes, []);
});

test("a failed start may be tried again after shutdown", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.asm.wasm`);
  const handle = page.load();
  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  page.missing.clear();
  handle.shutdown();
  page.window.initService(CONFIG);
  await settled();

  assert.equal(page.started.at(-1), "snapshot");
  assert.equal(page.hosts.length, 1);
});

test("what an array named Service holds is called with the handle, in order, at once", () => {
  const calls = [];
  const queue = [(service) => calls.push(service), () => calls.push("second")];
  const page = new Page({ window: { Service: queue, ServiceConfig: CONFIG } });

  const handle = page.load();
  handle.push((service) => calls.push(service));

  assert.deepEqual(calls, [handle, "second", handle]);
  assert.deepEqual(page.hosts, []);
});

test("a listener that came by the queue hears everything", async () => {
  const heard = [];
  const queue = [(service) => service.on("*", (detail, name) => heard.push(name))];
  const page = new Page({ secure: false, window: { Service: queue, ServiceConfig: CONFIG } });

  page.load();
  await settled();

  assert.deepEqual(heard, ["error"]);
});

test("what is wrong in the queue is the page's own mistake, and stops nothing", () => {
  const calls = [];
  const fails = () => {
    throw new Error("the page's own");
  };
  const page = new Page({ window: { Service: ["no function", fails, () => calls.push("called")] } });

  page.load();

  assert.deepEqual(page.reported.map(String), ["TypeError: callback is not a function", "Error: the page's own"]);
  assert.deepEqual(calls, ["called"]);
});

test("whatever else is named Service is replaced", () => {
  const page = new Page({ window: { Service: { logout: "the page's" } } });

  assert.equal(typeof page.load().logout, "function");
});

test("debug names the version and the browser, and why there is no widget", async () => {
  const page = new Page({ secure: false });
  const handle = page.load();

  page.window.initService(CONFIG);
  await settled();

  const { version, browser, boot } = handle.debug();
  assert.equal(version, "1.0");
  assert.equal(browser.userAgent, "Test");
  assert.equal(browser.origin, "http://shop.example");
  assert.equal(boot.error.code, "insecure_context");
});

test("debug tells how Python started, and what the widget tells", async () => {
  const page = new Page();
  const handle = page.load();
  assert.equal(handle.debug().boot.state, "idle");

  page.window.initService(CONFIG);
  await settled();

  assert.equal(handle.debug().jkt, "thumbprint");
  assert.equal(handle.debug().boot.from, "snapshot");
  assert.equal(typeof handle.debug().boot.milliseconds, "number");
});

test("F079: the browser's own is used even if the page replaces it later, by Python too", async () => {
  const page = new Page();
  page.load();
  const { window } = page.window;
  const { JSON: json, Promise: promise } = window;
  const { parse } = json;
  const replacement = () => assert.fail("the page's own was called");
  Object.assign(window, { fetch: replacement, setTimeout: replacement, Promise: class {} });
  json.parse = replacement;

  page.window.initService(CONFIG);
  await settled();

  assert.equal(page.hosts.length, 1);
  assert.equal(page.globals.JSON.parse, parse);
  assert.equal(page.globals.Promise, promise);
  assert.equal(page.globals.document, page.document);
  assert.equal((await page.globals.fetch("https://chat.example/")).ok, true);
});

test("F079: what the page replaced is named when the start fails, and in debug", async () => {
  const broken = () => {
    throw new Error("out of order");
  };
  const page = new Page({ window: { setTimeout: broken, ServiceConfig: CONFIG } });

  const handle = page.load();
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.dom[0][1].message, /out of order \(The page has replaced .*setTimeout.*\. Load sdk\.js before/);
  assert.ok(handle.debug().boot.replaced.includes("setTimeout"));
});

function violation(members) {
  const event = new Event("securitypolicyviolation");
  return Object.assign(event, { disposition: "enforce", effectiveDirective: "connect-src", ...members });
}
