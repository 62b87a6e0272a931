/**
 * A small chat widget in plain JavaScript, for tests only. It was written from the pages of the profile `wf.v1`.
 *
 * The page sets `ServiceConfig` before or after this script, or calls `initService`. The handle is `Service`.
 */
(() => {
  "use strict";

  const SERVICE = new URL("..", document.currentScript.src).href.replace(/\/$/, "");
  const RENEWED_BEFORE = 60; // seconds before a custom token expires
  const REFRESHED_AFTER = 50; // seconds after a token of an endpoint was issued
  const LONGEST_WAIT = 30; // seconds between two attempts to connect
  const ATTEMPTS = 4; // calls of a `getToken` that fails
  const USELESS = new Set(["provider_unknown", "provider_off", "origin_not_allowed", "insecure_origin"]);
  const STYLE = `
    :host { position: fixed; right: 16px; bottom: 16px; z-index: 2147483000; font: 15px/1.4 system-ui, sans-serif; }
    .panel { width: 320px; padding: 12px; margin-bottom: 8px; border-radius: 12px; background: Canvas; color: CanvasText;
      border: 1px solid GrayText; }
    .lines { list-style: none; margin: 0 0 8px; padding: 0; max-height: 240px; overflow: auto; }
    .pending { opacity: 0.6; }
    form { display: flex; gap: 8px; margin-bottom: 8px; }
    input { flex: 1; min-width: 0; }
    [hidden] { display: none; }`;

  // Texts and tokens

  const bytesOf = (text) => new TextEncoder().encode(text);
  const base64url = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes)))
      .replaceAll("+", "-")
      .replaceAll("/", "_")
      .replaceAll("=", "");
  const encoded = (value) => base64url(bytesOf(JSON.stringify(value)));
  const hashOf = async (text) => base64url(await crypto.subtle.digest("SHA-256", bytesOf(text)));
  const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(16)));
  const now = () => Date.now() / 1000;

  function claimsOf(token) {
    try {
      const binary = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
      return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0))));
    } catch {
      return {};
    }
  }

  // The key of this browser

  const finished = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });

  async function keptPair() {
    const opening = indexedDB.open("wf_keys", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    const database = await finished(opening);
    const keys = (mode) => database.transaction("keys", mode).objectStore("keys");
    try {
      const found = await finished(keys("readonly").get("connection"));
      if (found) return found;
      const made = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
      await finished(keys("readwrite").put(made, "connection"));
      return made;
    } finally {
      database.close();
    }
  }

  async function loadKey() {
    const pair = await navigator.locks.request("wf_keys", keptPair);
    const { crv, kty, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
    const jwk = { crv, kty, x, y };
    const jkt = await hashOf(JSON.stringify(jwk));
    return { jwk, jkt, uid: `v_${jkt}`, secret: pair.privateKey };
  }

  async function proofFor(key, hello, token, socketUri) {
    const header = { typ: "wf-proof+jwt", alg: "ES256", jwk: key.jwk };
    const claims = {
      jti: randomText(),
      iat: Math.floor(now()),
      htm: "GET",
      htu: socketUri,
      nonce: hello.nonce,
      ath: await hashOf(token),
    };
    const signed = `${encoded(header)}.${encoded(claims)}`;
    const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key.secret, bytesOf(signed));
    return `${signed}.${base64url(signature)}`;
  }

  // The endpoints

  class Refusal extends Error {
    constructor(status, code) {
      super(`The service answered ${status} ${code}.`);
      this.status = status;
      this.code = code;
    }
  }

  async function ask(path, query = {}) {
    const parameters = new URLSearchParams(query);
    const answer = await fetch(`${SERVICE}/v1/public/provider/${path}?${parameters}`, { credentials: "omit" });
    const { data, error } = await answer.json();
    if (!answer.ok) throw new Refusal(answer.status, error?.code);
    return data;
  }

  // The panel

  function buildPanel(act) {
    const host = document.createElement("small-widget");
    const root = host.attachShadow({ mode: "open" });
    root.innerHTML = `<style></style>
      <div class="panel" hidden>
        <ul class="lines"></ul>
        <form><input aria-label="Your message" maxlength="4000"><button class="send">Send</button></form>
        <div class="socials"></div>
        <button class="leave" hidden>Log out</button>
      </div>
      <button class="launcher">Chat</button>`;
    const find = (selector) => root.querySelector(selector);
    find("style").textContent = STYLE;
    find(".launcher").onclick = () => {
      find(".panel").hidden = !find(".panel").hidden;
    };
    find("form").onsubmit = (event) => {
      event.preventDefault();
      if (!find("input").value.trim()) return;
      act.send(find("input").value);
      find("input").value = "";
    };
    find(".leave").onclick = act.logOut;
    document.body.append(host);
    return {
      showLines(lines) {
        const shown = lines.map(({ body, seq }) =>
          Object.assign(document.createElement("li"), { textContent: body, className: seq ? "line" : "line pending" }),
        );
        find(".lines").replaceChildren(...shown);
      },
      showWho(isMember, socials) {
        find(".leave").hidden = !isMember;
        const buttons = isMember ? [] : socials.map((name) => socialButton(name, () => act.signIn(name)));
        find(".socials").replaceChildren(...buttons);
      },
      remove: () => host.remove(),
    };
  }

  function socialButton(name, onclick) {
    const button = Object.assign(document.createElement("button"), { textContent: `Log in with ${name}`, onclick });
    button.dataset.social = name;
    return button;
  }

  // The conversation: messages by id. Those without a `seq` are not acknowledged yet.

  function newConversation(changed) {
    const messages = new Map();
    const lines = () => [...messages.values()].sort((a, b) => (a.seq ?? Infinity) - (b.seq ?? Infinity));
    const put = (message) => messages.set(message.id, { ...messages.get(message.id), ...message });
    return {
      add(...found) {
        found.forEach(put);
        changed(lines());
      },
      drop(id) {
        messages.delete(id);
        changed(lines());
      },
      clear() {
        messages.clear();
        changed([]);
      },
      unacknowledged: () => lines().filter((message) => !message.seq),
    };
  }

  // The widget

  async function start(config) {
    const id = config.providerId;
    const slot = `wf_member_token_${id}`;
    const key = await loadKey();
    let settings = null;
    let link = null; // the present connection
    let attempt = 0; // grows with each connection, so that late answers of an earlier one have no effect
    let failures = 0;
    let refusals = 0;
    let uid = "";
    let listener = null; // of the present popup
    const panel = buildPanel({ send, logOut, signIn });
    const conversation = newConversation(panel.showLines);

    // who the person is

    function cached() {
      const token = localStorage.getItem(slot);
      if (!token) return null;
      const { exp, cnf } = claimsOf(token);
      const isUsable = exp > now() && cnf?.jkt === key.jkt;
      if (!isUsable) localStorage.removeItem(slot);
      return isUsable ? token : null;
    }

    const isSocial = (token) => claimsOf(token).type === "identity";
    const forget = () => localStorage.removeItem(slot);

    async function socketToken() {
      const token = cached();
      if (!token) return (await ask(`${id}/token`, { uid: key.uid, t: Date.now() })).auth_token;
      if (!isSocial(token)) return token;
      return (await ask(`${id}/member/token`, { auth: token, jkt: key.jkt })).auth_token;
    }

    async function askPage(attempts = 1) {
      if (typeof config.getToken !== "function") return;
      let token;
      try {
        token = await config.getToken({ jkt: key.jkt, attempt: attempts, signal: AbortSignal.timeout(10_000) });
      } catch (error) {
        console.warn("getToken failed.", error?.message);
        if (attempts < ATTEMPTS) setTimeout(askPage, 1000 * 2 ** attempts, attempts + 1);
        return;
      }
      const present = cached();
      if (token === null && present && !isSocial(present)) return logOut();
      if (typeof token !== "string" || claimsOf(token).cnf?.jkt !== key.jkt) return;
      localStorage.setItem(slot, token);
      if (link?.isReady && claimsOf(token).uid === uid && !link.isOfEndpoint) return renew(token);
      connect();
    }

    function logOut() {
      forget();
      connect();
    }

    function signIn(social) {
      const nonce = randomText();
      const query = new URLSearchParams({ origin: location.origin, jkt: key.jkt, nonce });
      const address = `${SERVICE}/v1/public/provider/${id}/oauth/${social}?${query}`;
      const popup = window.open(address, "", "popup,width=480,height=640");
      removeEventListener("message", listener);
      listener = ({ origin, source, data }) => {
        if (origin !== new URL(SERVICE).origin || source !== popup) return;
        if (data?.type !== "wf:oauth" || data.nonce !== nonce || data.providerId !== id) return;
        removeEventListener("message", listener);
        if (!data.token) return;
        localStorage.setItem(slot, data.token);
        connect();
      };
      addEventListener("message", listener);
    }

    // the connection

    async function connect() {
      const mine = (attempt += 1);
      const old = link;
      link = null;
      old?.end();
      let token;
      try {
        settings ??= await ask(id);
        token = await socketToken();
      } catch (error) {
        if (mine !== attempt) return;
        if (error.status === 401 && cached()) return logOut();
        return USELESS.has(error.code) ? undefined : later();
      }
      if (mine === attempt) open(token);
    }

    function later() {
      failures += 1;
      const wait = Math.random() * Math.min(LONGEST_WAIT, 2 ** failures);
      const mine = attempt;
      setTimeout(() => mine === attempt && connect(), wait * 1000);
    }

    function open(token) {
      const socket = new WebSocket(settings.socket_uri, "wf.v1");
      const timers = [];
      const mine = {
        token,
        isReady: false,
        isOfEndpoint: claimsOf(token).type === "visitor" || "auth_provider" in (claimsOf(token).data ?? {}),
        send: (frame) => socket.send(JSON.stringify(frame)),
        every: (seconds, act) => timers.push(setInterval(act, seconds * 1000)),
        after: (seconds, act) => timers.push(setTimeout(act, seconds * 1000)),
        end() {
          timers.forEach(clearTimeout);
          socket.close(1000);
        },
      };
      link = mine;
      mine.after(LONGEST_WAIT, () => mine.isReady || socket.close());
      socket.onmessage = ({ data }) => link === mine && receive(JSON.parse(data));
      socket.onclose = ({ code, reason }) => {
        if (link !== mine) return;
        mine.end();
        lost(code, reason);
      };
    }

    function lost(code, reason) {
      link = null;
      if (USELESS.has(reason)) return;
      if (code === 4401 || code === 4403) {
        refusals += 1;
        if (refusals > 2) return;
      }
      const token = cached();
      if ([4401, 4403, 4419].includes(code) && token && !isSocial(token)) {
        forget();
        askPage();
      }
      later();
    }

    function renewInTime(mine) {
      if (mine.isOfEndpoint) {
        mine.after(REFRESHED_AFTER, renewFromEndpoint);
        return;
      }
      const left = claimsOf(mine.token).exp - now() - RENEWED_BEFORE;
      mine.after(Math.max(1, Math.min(left, 2_000_000)), askPage);
    }

    async function renewFromEndpoint() {
      const mine = attempt;
      try {
        const token = await socketToken();
        if (mine === attempt && link?.isReady) renew(token);
      } catch {
        if (mine === attempt) link?.after(5, renewFromEndpoint);
      }
    }

    function renew(token) {
      link.token = token;
      link.send({ type: "refresh", token });
      renewInTime(link);
    }

    // frames

    const receivers = {
      async hello(frame) {
        const mine = link;
        mine.every(frame.ping, () => mine.isReady && mine.send({ type: "ping" }));
        const proof = await proofFor(key, frame, mine.token, settings.socket_uri);
        if (link === mine) mine.send({ type: "connect", token: mine.token, proof });
      },
      ready(frame) {
        if (frame.uid !== uid) conversation.clear();
        uid = frame.uid;
        failures = refusals = 0;
        link.isReady = true;
        panel.showWho(frame.identity === "member", settings.auth.oauth_providers);
        link.send({ type: "history", id: randomText() });
        conversation.unacknowledged().forEach(({ id: sent, body }) => link.send({ type: "message", id: sent, body }));
        renewInTime(link);
      },
      reauth() {
        if (link.isOfEndpoint) renewFromEndpoint();
      },
      ack: ({ id: sent, seq }) => conversation.add({ id: sent, seq }),
      message: (frame) => conversation.add(frame),
      history: ({ messages }) => conversation.add(...messages),
      error: ({ id: sent }) => sent && conversation.drop(sent),
    };

    function receive(frame) {
      if (Object.hasOwn(receivers, frame.type)) receivers[frame.type](frame);
    }

    function send(body) {
      const message = { id: randomText(), body };
      conversation.add(message);
      if (link?.isReady) link.send({ type: "message", ...message });
    }

    // the start

    addEventListener("storage", (event) => {
      if (event.key === slot && event.newValue !== event.oldValue) connect();
    });
    if (!cached()) askPage();
    connect();
    return { logout: logOut, refreshIdentity: () => askPage() };
  }

  // The globals of the page

  const queue = Array.isArray(window.Service) ? window.Service : [];
  let running = null;
  const handle = {
    push: (call) => init(window.ServiceConfig).then(() => call(handle)),
    logout: () => init(window.ServiceConfig).then((widget) => widget.logout()),
    refreshIdentity: () => init(window.ServiceConfig).then((widget) => widget.refreshIdentity()),
  };
  window.Service = handle;

  function init(config) {
    running ??= start(config);
    return running;
  }

  window.initService = (config) => {
    init(config);
    return handle;
  };

  function begin() {
    if (window.ServiceConfig) init(window.ServiceConfig);
    queue.forEach(handle.push);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
