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
  assert.equal(page.memory.length, SERVED.memory);
  assert.deepEqual([...page.memory.slice(0, 4)], [1, 2, 3, 0]);
  assert.equal(page.seeded, 1);
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
  const listener = (...values) => heard.push(values);
  page.window.initService(CONFIG);
  await settled();

  assert.equal(handle.on("token:used", listener), handle);
  page.hosts[0].emit("token:used", { kind: "visitor" });
  assert.equal(handle.off("token:used", listener), handle);
  page.hosts[0].emit("token:used", { kind: "member" });

  assert.deepEqual(heard, [[{ kind: "visitor" }, "token:used"]]);
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

test("initService again returns the same handle and starts nothing", async () => {
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

test("initService for another provider is already_initialized, and the first widget stays", async () => {
  const page = new Page();
  page.load();

  page.window.initService(CONFIG);
  page.window.initService({ providerId: "other" });
  await settled();

  assert.deepEqual(page.codes, ["already_initialized"]);
  assert.match(page.events[0][1].message, /shop/);
  assert.deepEqual(page.hosts.map((host) => host.config), [CONFIG]);
});

test("a second script on the page is inert", async () => {
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

test("a page whose policy blocks WebAssembly is told csp_blocked at once, and nothing is loaded", async () => {
  const page = new Page({ wasm: false });
  const handle = page.load();

  page.window.initService({ ...CONFIG, providerId: 1 });
  await assert.rejects(handle.ready, { code: "csp_blocked" });

  assert.match(page.events[0][1].message, /wasm/);
  assert.match(page.events[0][1].remediation, /'wasm-unsafe-eval'.*script-src/);
  assert.deepEqual(page.requests, []);
});

test("a file that the page's policy blocks is csp_blocked, with the directive and the source to add", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);

  page.document.dispatchEvent(violation({ blockedURI: `${SERVED.pyodide}pyodide.asm.wasm` }));
  await assert.rejects(handle.ready, { code: "csp_blocked" });

  assert.match(page.events[0][1].message, /pyodide\.asm\.wasm/);
  assert.equal(page.events[0][1].remediation, "Add https://cdn.example to its connect-src.");
});

test("what else the policy blocks or only reports does not concern the widget", async () => {
  const page = new Page();
  page.load();
  page.window.initService(CONFIG);

  page.document.dispatchEvent(violation({ blockedURI: "https://elsewhere.example/x.js" }));
  page.document.dispatchEvent(violation({ blockedURI: SERVED.snapshot, disposition: "report" }));
  await settled();

  assert.equal(page.hosts.length, 1);
  assert.deepEqual(page.codes, []);
});

test("without a snapshot the widget starts from its sources, and says so", async () => {
  const page = new Page();
  page.missing.add(SERVED.snapshot);
  page.load();

  page.window.initService(CONFIG);
  await settled();

  assert.deepEqual(page.started, ["sources"]);
  assert.equal(page.hosts.length, 1);
  assert.equal(page.events[0][0], "boot:fallback");
  assert.match(page.events[0][1].message, /widget-1\.snapshot answered 404/);
  assert.match(page.console[0], /without the snapshot/);
  assert.equal(page.window.Service.debug().boot.from, "sources");
});

test("without Pyodide's loader it is boot_failed, and the file is named", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.mjs`);
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed", phase: "start", retryable: true });

  assert.deepEqual(page.codes, ["boot_failed"]);
  assert.match(page.events.at(-1)[1].message, /pyodide\.mjs/);
  assert.equal(handle.debug().boot.state, "failed");
});

test("without Pyodide's runtime it is boot_failed, and the file is named", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.asm.mjs`);
  const handle = page.load();

  page.window.initService(CONFIG);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.events.at(-1)[1].message, /pyodide\.asm\.mjs/);
});

test("without Pyodide's WebAssembly it is boot_failed after three seconds, and the file is named", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.asm.wasm`);
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();

  page.pass(3000);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  assert.match(page.events.at(-1)[1].message, /pyodide\.asm\.wasm answered 404/);
  assert.deepEqual(page.started, []);
});

test("a WebAssembly that is only slow is waited for", async () => {
  const page = new Page();
  const line = Promise.withResolvers();
  page.instantiate = () => line.promise;
  page.load();
  page.window.initService(CONFIG);
  await settled();

  page.pass(3000);
  await settled();
  line.resolve({});
  await settled();

  assert.ok(page.requests.includes(`HEAD ${SERVED.pyodide}pyodide.asm.wasm`));
  assert.deepEqual(page.codes, []);
  assert.equal(page.hosts.length, 1);
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

  await assert.rejects(handle.logout(), { code: "insecure_context" });
});

test("a start that takes long is reported, and goes on", async () => {
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

test("a page rendered ahead of its visit starts no widget until somebody looks at it", async () => {
  const page = new Page({ prerendering: true });
  page.load();
  page.window.initService(CONFIG);
  await settled();
  assert.deepEqual(page.hosts, []);

  page.document.dispatchEvent(new Event("prerenderingchange"));
  await settled();

  assert.equal(page.hosts.length, 1);
});

test("after shutdown another widget may be started, in the same Python", async () => {
  const page = new Page();
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();

  handle.shutdown();
  page.window.initService({ providerId: "other" });
  await settled();

  assert.deepEqual(page.calls, [["shutdown"]]);
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

test("a failed start may be tried again after shutdown", async () => {
  const page = new Page();
  page.missing.add(`${SERVED.pyodide}pyodide.asm.wasm`);
  const handle = page.load();
  page.window.initService(CONFIG);
  await settled();
  page.pass(3000);
  await assert.rejects(handle.ready, { code: "boot_failed" });

  page.missing.clear();
  handle.shutdown();
  page.window.initService(CONFIG);
  await settled();

  assert.equal(page.started.at(-1), "snapshot");
  assert.equal(page.hosts.length, 1);
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

test("the browser's own fetch is used even if the page replaces it later", async () => {
  const page = new Page();
  page.load();
  page.window.fetch = () => assert.fail("the page's fetch was called");

  page.window.initService(CONFIG);
  await settled();

  assert.equal(page.hosts.length, 1);
});

function violation(members) {
  const event = new Event("securitypolicyviolation");
  return Object.assign(event, { disposition: "enforce", effectiveDirective: "connect-src", ...members });
}
