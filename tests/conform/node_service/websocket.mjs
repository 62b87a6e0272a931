// @ts-check
/** The server's side of RFC 6455, without extensions, over a socket that `node:http` handed over. */

import { createHash } from "node:crypto";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const [MORE, TEXT, BINARY, CLOSE, PING, PONG] = [0x0, 0x1, 0x2, 0x8, 0x9, 0xa];
const LINGER_MS = 2000;
const CLOSE_CODES = /^(?:100[0-3]|100[7-9]|101[0-4]|[34][0-9]{3})$/;

/**
 * @typedef {object} Peer what is told of a socket
 * @property {(text: string | null) => void} message one message; null if it was binary
 * @property {() => void} gone it is over
 * @property {() => boolean} extra one more ping, pong or fragment; whether there may be as many
 * @typedef {{bytes: number, frameSeconds: number, pongSeconds: number, waiting: number}} Limits
 */

/** The headers of the answer that switches protocols, or null. @param {import("node:http").IncomingMessage} request */
export function handshake(request) {
  const { "sec-websocket-key": key = "", "sec-websocket-version": version, upgrade = "" } = request.headers;
  const isAsked = upgrade.toLowerCase() === "websocket" && request.method === "GET" && version === "13";
  if (!isAsked || Buffer.from(key, "base64").length !== 16) return null;
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
  const accept = createHash("sha1").update(key + MAGIC).digest("base64");
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  const chosen = offered.includes("wf.v1") ? ["Sec-WebSocket-Protocol: wf.v1"] : [];
  return [...lines, `Sec-WebSocket-Accept: ${accept}`, ...chosen, "", ""].join("\r\n");
}

/** One accepted socket. */
export class WebSocket {
  /** @param {import("node:stream").Duplex} stream @param {Limits} limits @param {Peer} peer */
  constructor(stream, limits, peer) {
    this.stream = stream;
    this.limits = limits;
    this.peer = peer;
    this.buffer = Buffer.alloc(0);
    /** @type {{opcode: number, parts: Buffer[], size: number} | null} */
    this.message = null;
    this.closing = false;
    this.deaf = false;
    this.waiting = 0;
    /** @type {NodeJS.Timeout | undefined} */
    this.arriving = undefined;
    /** @type {NodeJS.Timeout | undefined} */
    this.answering = undefined;
    this.beat = setInterval(() => this.ping(), limits.pongSeconds * 1000);
    stream.on("data", (/** @type {Buffer} */ bytes) => this.read(bytes));
    stream.on("error", () => stream.destroy());
    stream.on("end", () => stream.end());
    stream.on("close", () => this.over());
  }

  /** @param {object} frame */
  send(frame) {
    if (this.closing) return;
    if (this.waiting >= this.limits.waiting) return this.close(1013, "unavailable");
    this.write(TEXT, Buffer.from(JSON.stringify(frame)));
  }

  /** @param {number} code @param {string} [reason] */
  close(code, reason = "") {
    if (this.closing) return;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code);
    payload.write(reason, 2);
    this.write(CLOSE, payload);
    this.closing = true;
    setTimeout(() => this.stream.destroy(), LINGER_MS).unref();
  }

  over() {
    clearInterval(this.beat);
    clearTimeout(this.arriving);
    clearTimeout(this.answering);
    this.closing = true;
    this.peer.gone();
  }

  ping() {
    this.write(PING, Buffer.alloc(0));
    this.answering ??= setTimeout(() => this.close(1011), this.limits.pongSeconds * 1000);
  }

  /** @param {number} opcode @param {Buffer} payload */
  write(opcode, payload) {
    if (this.closing || this.stream.destroyed) return;
    const size = payload.length;
    const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
    head[0] = 0x80 | opcode;
    head[1] = size < 126 ? size : size < 65_536 ? 126 : 127;
    if (head.length === 4) head.writeUInt16BE(size, 2);
    if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
    this.waiting += 1;
    this.stream.write(Buffer.concat([head, payload]), () => (this.waiting -= 1));
  }

  /** @param {Buffer} bytes */
  read(bytes) {
    if (this.deaf) return;
    this.buffer = Buffer.concat([this.buffer, bytes]);
    while (!this.deaf && this.frame());
    if (this.closing) return;
    if (!this.buffer.length && !this.message) {
      clearTimeout(this.arriving);
      this.arriving = undefined;
    } else {
      this.arriving ??= setTimeout(() => this.close(4408, "frame_timeout"), this.limits.frameSeconds * 1000);
    }
  }

  /** Take one whole frame from the buffer; whether there was one. */
  frame() {
    const { buffer } = this;
    if (buffer.length < 2) return false;
    const [first, second] = buffer;
    const opcode = first & 0x0f;
    const isLast = first >= 0x80;
    if (first & 0x70 || second < 0x80 || !this.belongs(opcode, isLast, second & 0x7f)) return this.fail(1002);
    const start = { 126: 4, 127: 10 }[second & 0x7f] ?? 2;
    if (buffer.length < start) return false;
    const size = start === 4 ? buffer.readUInt16BE(2) : start === 10 ? Number(buffer.readBigUInt64BE(2)) : second & 0x7f;
    if (size + (opcode < CLOSE ? this.message?.size ?? 0 : 0) > this.limits.bytes) return this.fail(1009);
    const end = start + 4 + size;
    if (buffer.length < end) return false;
    const mask = buffer.subarray(start, start + 4);
    const payload = Buffer.from(buffer.subarray(start + 4, end));
    for (let at = 0; at < size; at += 1) payload[at] ^= mask[at & 3];
    this.buffer = buffer.subarray(end);
    this.taken(opcode, isLast, payload);
    return true;
  }

  /** @param {number} opcode @param {boolean} isLast @param {number} length as the second byte has it */
  belongs(opcode, isLast, length) {
    if ([CLOSE, PING, PONG].includes(opcode)) return isLast && length < 126;
    return this.message ? opcode === MORE : opcode === TEXT || opcode === BINARY;
  }

  /** Close, and read what follows without a look: nobody knows where a frame begins. @param {number} code */
  fail(code) {
    this.close(code);
    this.deaf = true;
    this.buffer = Buffer.alloc(0);
    return false;
  }

  /** @param {number} opcode @param {boolean} isLast @param {Buffer} payload */
  taken(opcode, isLast, payload) {
    if (this.closing) return void (opcode === CLOSE && this.stream.end());
    if ((opcode >= PING || !isLast || opcode === MORE) && !this.peer.extra()) return this.fail(4429);
    if (opcode === CLOSE) return this.answerClose(payload);
    if (opcode === PING) return this.write(PONG, payload);
    if (opcode === PONG) {
      clearTimeout(this.answering);
      this.answering = undefined;
      return;
    }
    this.message ??= { opcode, parts: [], size: 0 };
    this.message.parts.push(payload);
    this.message.size += payload.length;
    if (isLast) this.whole(this.message);
  }

  /** @param {{opcode: number, parts: Buffer[]}} message */
  whole({ opcode, parts }) {
    this.message = null;
    const text = opcode === TEXT ? utf8(Buffer.concat(parts)) : null;
    if (opcode === TEXT && text === null) return this.fail(1007);
    this.peer.message(text);
  }

  /** @param {Buffer} payload */
  answerClose(payload) {
    const code = payload.length ? (payload.length > 1 ? payload.readUInt16BE() : 0) : 1000;
    if (!CLOSE_CODES.test(String(code))) return this.fail(1002);
    if (utf8(payload.subarray(2)) === null) return this.fail(1007);
    this.close(code);
    this.stream.end();
  }
}

/** @param {Buffer} bytes */
function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
