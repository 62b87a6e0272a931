// @ts-check
/** The audio of a call: who has the call, what its two sides send to each other, and when it is over (docs/socket.md). */

import { checkCallProof } from "./proofs.mjs";
import { Refused } from "./refusals.mjs";

const RING = 60;
const REJOIN = 20;
/** The close codes after which the caller's identity is no longer valid. */
const INVALID = [4401, 4403, 4409, 4419];

/**
 * @typedef {import("./connection.mjs").Connection} Connection
 * @typedef {import("./chat.mjs").Conversation} Conversation
 * @typedef {import("./clock.mjs").Clock} Clock
 * @typedef {{id: string, call_id: string, action: "ask" | "answer" | "candidate", sdp?: string, proof?: string,
 *   candidate?: string}} Signal
 */

/** The one fingerprint of a description with one audio line, in upper case. @param {string} sdp */
export function fingerprintOf(sdp) {
  const lines = sdp.split(/[\r\n]+/);
  const media = lines.filter((line) => /^\s*m=\S/i.test(line));
  if (media.length !== 1 || !media[0].startsWith("m=audio ")) {
    throw new Refused("parameter_invalid", "A description has one audio line and no other media.");
  }
  const mentions = lines.filter((line) => /fingerprint/i.test(line));
  const read = mentions.map((line) => /^a=fingerprint:sha-256 ((?:[0-9a-f]{2}:){31}[0-9a-f]{2})$/i.exec(line));
  const found = new Set(read.map((match) => match?.[1].toUpperCase()));
  const [fingerprint] = found;
  if (found.size !== 1 || !fingerprint) {
    throw new Refused("proof_fingerprint", "A description has one fingerprint, with SHA-256.");
  }
  return fingerprint;
}

/** A page of an agent, which keeps the signals that it receives. */
export class Page {
  /** @type {object[]} */
  signals = [];
  /** @type {Line | null} */
  line = null;

  /** Accept the call of a conversation. @param {Conversation} conversation */
  accept(conversation) {
    const { line } = conversation;
    if (this.line?.isOpen && this.line !== line) throw new Refused("call_busy", "The agent is in another call.");
    if (!line) throw unknown();
    if (line.page && line.page !== this) throw taken();
    this.line = line;
    line.page = this;
    conversation.activate();
  }

  /** @param {{sdp: string, nonce: string}} offer */
  offer({ sdp, nonce }) {
    const { line, fingerprint } = { line: this.open(), fingerprint: fingerprintOf(sdp) };
    line.offer = { nonce, fingerprint };
    line.tell({ event: "offer", sdp, nonce, fingerprint, ice_servers: [] });
  }

  /** @param {string} candidate */
  candidate(candidate) {
    this.open().tell({ event: "candidate", candidate });
  }

  open() {
    if (!this.line?.isOpen) throw unknown();
    return this.line;
  }
}

/** The two sides of one call: the tab that has started it, and the page that has accepted it. */
export class Line {
  isOpen = true;
  /** @type {Page | null} */
  page = null;
  /** @type {{nonce: string, fingerprint: string} | null} */
  offer = null;

  /** @param {Conversation} conversation @param {string} callId @param {Connection} caller @param {string} started */
  constructor(conversation, callId, caller, started) {
    const { clock } = caller.service;
    this.conversation = conversation;
    this.callId = callId;
    /** @type {Connection | null} */
    this.caller = caller;
    this.started = started;
    this.jkt = caller.claims?.jkt;
    this.clock = clock;
    this.take = clock.at(clock.precise() + RING, () => this.end("call_unanswered"));
  }

  /** Tell the caller's tab, and no other. @param {object} signal */
  tell(signal) {
    this.caller?.send({ type: "signal", call_id: this.callId, ...signal });
  }

  /** The call is active, and rings no more. */
  activate() {
    this.take();
  }

  /** The same tab, with the same key, has the call again. @param {Connection} tab @param {string | undefined} started */
  join(tab, started) {
    if (!this.page) throw unknown();
    if (started !== this.started || tab.claims?.jkt !== this.jkt) throw taken();
    this.take();
    this.caller = tab;
  }

  /** The caller's socket is gone, and may come again for a while. @param {Connection} tab */
  leave(tab) {
    if (tab !== this.caller) return;
    this.caller = null;
    if (this.page) this.take = this.clock.at(this.clock.precise() + REJOIN, () => this.end("call_lost"));
  }

  /** The caller's socket is refused: without a valid identity there is no call. @param {Connection} tab @param {Refused} refused */
  refused(tab, { close, code }) {
    if (tab === this.caller && INVALID.includes(close)) this.end(code);
  }

  /** @param {string} code */
  end(code) {
    this.conversation.turn("end", undefined, code);
  }

  close() {
    this.isOpen = false;
    this.take();
  }

  /** Pass on what the caller's tab says; an answer is checked first, and ends the call where it is wrong. @param {Connection} tab @param {Signal} signal */
  signal(tab, { id, call_id, action, sdp = "", proof = "", candidate = "" }) {
    if (tab !== this.caller || call_id !== this.callId) throw unknown();
    if (action === "ask") this.page?.signals.push({ action, id });
    else if (action === "candidate") this.page?.signals.push({ action, candidate });
    else this.page?.signals.push({ action, ...this.answer(tab, sdp, proof) });
    return { type: "signal", id, call_id, event: "passed" };
  }

  /** @param {Connection} tab @param {string} sdp @param {string} proof */
  answer(tab, sdp, proof) {
    const offer = this.offer;
    this.offer = null;
    try {
      const fingerprint = fingerprintOf(sdp);
      const jkt = tab.claims?.jkt ?? null;
      const peer = { nonce: offer?.nonce ?? null, peerFingerprint: offer?.fingerprint ?? "" };
      checkCallProof(proof, { jkt, now: tab.service.clock.now(), callId: this.callId, fingerprint, ...peer });
      return { sdp, nonce: peer.nonce, fingerprint, jkt };
    } catch (error) {
      if (error instanceof Refused) this.end(error.code);
      throw error;
    }
  }
}

export function unknown() {
  return new Refused("call_unknown", "There is no such call.");
}

function taken() {
  return new Refused("call_taken", "The call is another tab's, or another agent's.");
}
