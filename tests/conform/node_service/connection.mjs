// @ts-check
/** One socket of a widget: the order of checks, and what keeps it (docs/socket.md). */

import { randomBytes } from "node:crypto";

import { Line, unknown } from "./calls.mjs";
import { checkText, oneLine } from "./chat.mjs";
import { Allowance } from "./clock.mjs";
import { checkPage } from "./domains.mjs";
import { readFrame } from "./frames.mjs";
import { length } from "./json.mjs";
import { checkProof } from "./proofs.mjs";
import { Refused } from "./refusals.mjs";
import { readSocketToken } from "./tokens.mjs";
import { WebSocket } from "./websocket.mjs";

const REVISION = 3;
const REAUTH = 30;

/** Seconds of real time, which no lab moves. */
const real = () => performance.now() / 1000;

/**
 * @typedef {import("./service.mjs").Service} Service
 * @typedef {import("./tokens.mjs").Claims} Claims
 * @typedef {{origin: string | undefined, query: string, address: string}} Opened how it was opened
 */

export class Connection {
  /** @param {Service} service @param {import("node:stream").Duplex} stream @param {Opened} opened */
  constructor(service, stream, opened) {
    const { limits } = service;
    this.service = service;
    this.opened = opened;
    /** @type {string | null} */
    this.nonce = null;
    /** @type {Claims | null} */
    this.claims = null;
    /** @type {import("./chat.mjs").Conversation | null} */
    this.conversation = null;
    this.frames = new Allowance(limits.frames, 1, real);
    this.extras = new Allowance(limits.frames, 1, real);
    /** @type {(() => void)[]} */
    this.alarms = [];
    /** @type {NodeJS.Timeout | undefined} */
    this.idle = undefined;
    this.socket = new WebSocket(
      stream,
      { bytes: limits.frameBytes, frameSeconds: 20, pongSeconds: 20, waiting: 256 },
      { message: (text) => this.attempt(() => this.read(text)), gone: () => this.gone(), extra: () => !this.extras.take("") },
    );
    service.connections.add(this);
    this.attempt(() => this.open());
  }

  /** @param {object} frame */
  send(frame) {
    this.socket.send(frame);
  }

  /** Tell of a refusal, and close. @param {Refused} refused */
  refuse(refused) {
    this.send(refused.frame());
    this.socket.close(refused.close, refused.code);
    this.conversation?.line?.refused(this, refused);
  }

  /** Whatever is refused within ends the connection. @param {() => void} act */
  attempt(act) {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Refused)) console.error(error);
      this.refuse(error instanceof Refused ? error : new Refused("internal", "A mistake in the service."));
    }
  }

  open() {
    const { service, opened } = this;
    const open = [...service.connections].filter((other) => other.opened.address === opened.address);
    if (open.length > service.limits.socketsPerAddress) {
      throw new Refused("too_many_sockets", "This address has as many sockets open as it may have.");
    }
    if (opened.query.includes("eyJ")) throw new Refused("parameter_invalid", "A token does not belong into an address.");
    if (opened.origin !== undefined) checkPage(opened.origin);
    this.nonce = randomBytes(24).toString("base64url");
    const { authTimeout, ping } = service.limits;
    this.send({ type: "hello", nonce: this.nonce, server_time: service.clock.now(), auth_timeout: authTimeout, ping });
    this.alarm(service.clock.precise() + authTimeout, "auth_timeout");
  }

  /** Refuse with this code when the time has come. @param {number} due @param {string} code */
  alarm(due, code) {
    const ring = () => this.refuse(new Refused(code, "The time for this is over."));
    this.alarms.push(this.service.clock.at(due, ring));
  }

  /** @param {string | null} text */
  read(text) {
    const wait = this.frames.take("");
    if (text === null) throw new Refused("frame_invalid", "Frames are text.");
    if (wait) throw new Refused("rate_limited", "Too many frames within a second.", wait);
    const frame = readFrame(text);
    if (!this.claims && frame.type !== "connect") throw new Refused("frame_unexpected", "connect comes first.");
    if (this.claims && frame.type === "connect") throw new Refused("frame_unexpected", "This socket is connected.");
    if (frame.type === "connect") return this.connect(frame.token, frame.proof);
    this.stay();
    if (frame.type === "refresh") return this.refresh(frame.token);
    if (frame.type === "ping") return this.send({ type: "pong", server_time: this.service.clock.now() });
    this.answer(frame);
  }

  /** @param {string} token @param {string} proof */
  connect(token, proof) {
    const { service } = this;
    const now = service.clock.now();
    const nonce = this.nonce;
    this.nonce = null;
    const by = { find: (/** @type {string} */ pid) => service.businesses.find(pid), now, most: service.limits.token };
    const claims = readSocketToken(token, by);
    checkProof(proof, { token, jkt: claims.jkt, nonce, htu: service.socketUri, now });
    this.checkPage(claims.pid);
    const conversation = service.conversation(claims);
    if (conversation.sockets.size >= service.limits.socketsPerIdentity) {
      throw new Refused("too_many_sockets", "This identity has as many sockets open as it may have.");
    }
    this.conversation = conversation;
    conversation.sockets.add(this);
    this.hold(claims);
    this.stay();
    const identity = claims.login === "visitor" ? "visitor" : "member";
    this.send({ type: "ready", identity, uid: claims.uid, expires_at: claims.exp, server_time: now, revision: REVISION });
    this.askInTime(claims.exp);
  }

  /** The business is on, and the page one of its own where it asks for that. @param {string} pid */
  checkPage(pid) {
    const business = this.service.businesses.findOn(pid);
    if (business.restricted && !business.origins.includes(this.opened.origin ?? "")) {
      throw new Refused("origin_not_allowed", "The page is none of the provider's own.");
    }
  }

  /** Be connected by this token until it ends. @param {Claims} claims */
  hold(claims) {
    this.claims = claims;
    for (const take of this.alarms.splice(0)) take();
    this.alarm(claims.exp, "token_expired");
  }

  /** Ask for a newer token before this one ends. @param {number} deadline */
  askInTime(deadline) {
    const { clock } = this.service;
    const ask = () => this.send({ type: "reauth", deadline });
    if (clock.precise() >= deadline - REAUTH) return ask();
    this.alarms.push(clock.at(deadline - REAUTH, ask));
  }

  /** A frame came: wait for the next one. */
  stay() {
    clearTimeout(this.idle);
    const late = () => this.refuse(new Refused("idle_timeout", "No frame came for too long."));
    this.idle = setTimeout(late, this.service.limits.idle * 1000);
  }

  /** @param {string} token */
  refresh(token) {
    const { service } = this;
    const held = /** @type {Claims} */ (this.claims);
    const now = service.clock.now();
    const changed = new Refused("identity_changed", "A change of identity is a new connection.");
    const find = (/** @type {string} */ pid) => {
      if (pid !== held.pid) throw changed;
      return service.businesses.find(pid);
    };
    const claims = readSocketToken(token, { find, now, most: service.limits.token });
    this.checkPage(claims.pid);
    if (claims.login !== held.login || claims.uid !== held.uid || claims.jkt !== held.jkt) throw changed;
    const isNewer = claims.exp > held.exp;
    if (isNewer) this.hold(claims);
    this.send({ type: "refreshed", expires_at: isNewer ? claims.exp : held.exp, server_time: now });
    if (isNewer) this.askInTime(claims.exp);
  }

  /** What cannot be done is answered with the frame's id, and the socket stays. @param {import("./frames.mjs").Asked} frame */
  answer(frame) {
    try {
      this.send(this.done(frame));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.send(error.frame(frame.id));
    }
  }

  /** @param {import("./frames.mjs").Asked} frame */
  done(frame) {
    const { limits } = this.service;
    const conversation = /** @type {import("./chat.mjs").Conversation} */ (this.conversation);
    this.allow(frame.type);
    switch (frame.type) {
      case "message":
        return this.message(frame, conversation);
      case "history":
        return { type: "history", id: frame.id, ...conversation.page(frame.before ?? null, frame.limit ?? 50) };
      case "search":
        checkText(frame.query, limits.query, "query");
        return { type: "search", id: frame.id, messages: conversation.search(frame.query) };
      case "call":
        return { type: "call", ...this.call(frame, conversation), id: frame.id };
      case "signal":
        if (!conversation.line) throw unknown();
        return conversation.line.signal(this, frame);
    }
  }

  /** @param {import("./frames.mjs").Asked["type"]} what */
  allow(what) {
    const claims = /** @type {Claims} */ (this.claims);
    const wait = this.service.allowances[what].take(`${claims.pid} ${claims.login} ${claims.uid}`);
    if (wait) throw new Refused("rate_limited", "Too much in too short a time.", wait);
  }

  /** @param {Extract<import("./frames.mjs").Asked, {type: "message"}>} frame @param {import("./chat.mjs").Conversation} conversation */
  message({ id, body, headers }, conversation) {
    checkText(body, this.service.limits.message, "message");
    const name = this.name(headers);
    const known = conversation.byId.get(id);
    if (known) return { type: "ack", id, seq: known.seq, sent_at: known.sent_at };
    const seq = conversation.messages.length + 1;
    const sent_at = this.service.clock.now();
    conversation.store({ id, seq, sender: "customer", name, body, sent_at }, this);
    this.remember(name);
    return { type: "ack", id, seq, sent_at };
  }

  /** @param {Extract<import("./frames.mjs").Asked, {type: "call"}>} frame @param {import("./chat.mjs").Conversation} conversation */
  call({ id, action, headers, started }, conversation) {
    const name = this.name(headers);
    const before = conversation.call;
    if (action === "join") return this.join(conversation, started);
    const call = conversation.turn(action, this);
    if (call.call_id !== before?.call_id) conversation.line = new Line(conversation, call.call_id, this, id);
    this.remember(name);
    return call;
  }

  /** @param {import("./chat.mjs").Conversation} conversation @param {string} [started] */
  join({ line, call }, started) {
    if (!line || !call) throw unknown();
    line.join(this, started);
    return call;
  }

  /** The name that is shown. @param {{name?: string | null} | undefined} headers */
  name(headers) {
    if (length(headers?.name ?? "") > 255) throw new Refused("too_large", "A name has at most 255 characters.");
    return oneLine(headers?.name) ?? oneLine(this.claims?.name);
  }

  /** A custom member has a record from the first message or call on. @param {string | null} name */
  remember(name) {
    const claims = /** @type {Claims} */ (this.claims);
    if (claims.login !== "custom") return;
    const { uid, login, email } = claims;
    const told = { uid, login, auth_provider: null, name, email, avatar: null };
    this.service.businesses.find(claims.pid).record(told);
  }

  gone() {
    clearTimeout(this.idle);
    for (const take of this.alarms.splice(0)) take();
    this.service.connections.delete(this);
    this.conversation?.leave(this);
  }
}
