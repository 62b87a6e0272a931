// Walks every cell of calls.toml with the panel: each state of a call, and each event that can happen in it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Page, item } from "./page.mjs";

const CELLS = JSON.parse(process.env.CELLS);
const SCRIPT = readFileSync(`${process.env.PANEL}/static/call.js`, "utf8");
const { words } = await import(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);
const CALL = { conversation: "a", call_id: "call-1" };

/** Let all promises settle. */
const settled = () => new Promise(setImmediate);

/** A page of the panel, with a service that stores the call and answers each `call` frame. */
class Scene {
  database = "";
  #answered = 0;

  async start(kept) {
    this.page = new Page(kept);
    await settled();
    await this.connect();
    return this;
  }

  async connect() {
    this.page.open();
    this.#answered = 0;
    const call = ["ringing", "active"].includes(this.database) ? { ...CALL, state: this.database } : null;
    this.page.list([{ ...item("a", 1), call }]);
    this.page.choose("a");
    await this.serve();
  }

  async enter(state) {
    if (state === "idle") return;
    await this.tell(state === "elsewhere" ? "active" : "ringing");
    if (["ringing", "elsewhere"].includes(state)) return;
    this.page.$("accept").click();
    await this.serve();
    if (state === "connecting") return;
    await this.ask("ask-1");
    const { nonce } = this.page.sent("signal").at(-1);
    await this.signal({ action: "answer", sdp: "fingerprint AB", nonce, fingerprint: "AB" });
    this.page.media.peer.become("connected");
    if (state === "muted") this.page.$("mute").click();
    if (state === "interrupted") this.page.media.peer.become("disconnected");
  }

  async serve() {
    const sent = this.page.sent("call").slice(this.#answered);
    this.#answered += sent.length;
    for (const { action, id, code } of sent) {
      const isOpen = ["ringing", "active"].includes(this.database);
      if (isOpen && action === "end") await this.tell("ended", code);
      else if (action === "accept" || (action === "join" && this.database === "active")) {
        await this.tell("active");
        this.page.hear({ type: "accepted", ...CALL });
      } else if (action === "join") this.page.hear({ type: "error", id, code: "call_unknown", message: "" });
      await settled();
    }
  }

  async tell(state, code) {
    this.database = [state, code].filter(Boolean).join(" ");
    this.page.hear({ type: "call", ...CALL, state, code });
    await settled();
  }

  async end(code) {
    if (["ringing", "active"].includes(this.database)) await this.tell("ended", code);
  }

  async signal(members) {
    this.page.hear({ type: "signal", call_id: CALL.call_id, ...members });
    await settled();
  }

  ask = (id) => this.signal({ action: "ask", id });
  disconnect = () => this.page.media.peer?.become("disconnected");
  loseMicrophone = () => this.page.media.streams.at(-1)?.track.dispatchEvent(new Event("ended"));

  async loseSocket(code = 1006) {
    this.page.lose(code);
    this.page.pass(2_000);
    await this.connect();
  }

  get state() {
    const text = this.page.$("call-state").textContent;
    if (this.page.reloads) return "signed_out";
    if (this.page.$("call").hidden) return "idle";
    if (!this.page.$("accept").hidden) return "ringing";
    if (text.startsWith("Another page")) return "elsewhere";
    if (this.page.$("mute").textContent === "Unmute") return "muted";
    if (text.startsWith("The sound is interrupted")) return "interrupted";
    return text.startsWith("Connecting") ? "connecting" : "active";
  }
}

const EVENTS = {
  hang_up: (scene) => scene.page.$("hang-up").hidden || scene.page.$("call").hidden || scene.page.$("hang-up").click(),
  reload: (scene) => scene.start(scene.page.kept),
  second_tab: (scene) => ["ringing", "active"].includes(scene.database) && scene.tell(scene.database),
  socket_lost: (scene) => scene.loseSocket(),
  link_lost: (scene) => (scene.disconnect(), scene.loseSocket()),
  address_changed: (scene) => (scene.page.window.dispatchEvent(new Event("online")), scene.disconnect()),
  permission_revoked(scene) {
    scene.page.media.refusal = new DOMException("", "NotAllowedError");
    scene.loseMicrophone();
  },
  device_gone: (scene) => scene.loseMicrophone(), // the browser has another one
  autoplay_refused(scene) {
    scene.page.media.isPlaying = false;
    scene.page.media.peer?.dispatchEvent(Object.assign(new Event("track"), { track: {} }));
  },
  panel_closed: (scene) => scene.page.$("back").click(),
  logout: (scene) => scene.end(), // of the customer
  token_ends: (scene) => scene.end("token_expired"), // of the customer
  provider_off: (scene) => scene.end("provider_off"),
  agent_signs_out(scene) {
    if (scene.database === "active" && scene.state !== "elsewhere") scene.database = "ended call_lost";
    scene.page.lose(4401);
  },
  caller_reloads: (scene) => (scene.disconnect(), scene.ask("ask-2")),
  peer_gone: (scene) => (scene.disconnect(), scene.end("call_lost")),
  server_restarted: (scene) => scene.loseSocket(1012),
  process_dies: (scene) => scene.loseSocket(),
};

test("every event leads to the state, the sentence and the record of its cell", async () => {
  for (const [state, cells] of Object.entries(CELLS)) {
    assert.deepEqual(Object.keys(cells).sort(), Object.keys(EVENTS).sort());
    for (const [event, cell] of Object.entries(cells)) {
      const scene = await new Scene().start();
      await scene.enter(state);
      assert.equal(scene.state, state);

      await EVENTS[event](scene);
      await settled();
      await scene.serve();

      const [whose, code] = cell[1].split(" ");
      const read = ["", "play_sound"].includes(cell[1]) ? "" : words(code, whose === "ours");
      assert.deepEqual([scene.state, scene.page.$("problem").textContent, scene.database], [cell[0], read, cell[2]], `${state}, ${event}`);
      assert.equal(scene.page.$("play").hidden, cell[1] !== "play_sound", `${state}, ${event}`);
      const isLive = ["connecting", "active", "muted", "interrupted", "signed_out"].includes(scene.state);
      assert.ok(isLive || scene.page.media.streams.every(({ track }) => track.isStopped), `${state}, ${event}`);
    }
  }
});
