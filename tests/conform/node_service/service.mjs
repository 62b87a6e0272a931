// @ts-check
/** A whole service: what its parts share, and the server that puts them on the network. */

import { readFileSync } from "node:fs";
import { ServerResponse, createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";

import { Businesses } from "./businesses.mjs";
import { Conversation } from "./chat.mjs";
import { Allowance, Clock } from "./clock.mjs";
import { Connection } from "./connection.mjs";
import { answer, respond, target } from "./http.mjs";
import { answerLab } from "./lab.mjs";
import { Logins } from "./login.mjs";
import { handshake } from "./websocket.mjs";

const PATIENCE_MS = 20_000;

/**
 * @typedef {object} Settings
 * @property {string} base_url as browsers write it
 * @property {number} port
 * @property {{cert: string, key: string} | null} [tls] files, when the service speaks TLS itself
 * @property {string} [lab_token]
 * @property {boolean} [lab] whether there is one
 * @property {boolean} [tied] whether it ends with whoever started it
 * @property {Record<string, import("./socials.mjs").Place>} socials
 * @property {Partial<typeof LIMITS>} [limits] those that differ
 */

/** The profile's limits that this service has (docs/limits.md). */
export const LIMITS = {
  token: 8192, tokenRate: 600, oauthRate: 60, frameBytes: 65_536, message: 4000, query: 100, frames: 20, authTimeout: 10,
  idle: 180, ping: 25, socketsPerAddress: 1000, socketsPerIdentity: 50, messages: 100, searches: 60, histories: 240,
};

export class Service {
  /** @param {Settings} settings */
  constructor(settings) {
    this.settings = settings;
    this.limits = { ...LIMITS, ...settings.limits };
    this.socketUri = `${settings.base_url.replace(/^http/, "ws")}/v1/socket`;
    this.clock = new Clock();
    this.businesses = new Businesses();
    this.logins = new Logins(this);
    /** @type {Set<Connection>} */
    this.connections = new Set();
    /** @type {Map<string, Conversation>} */
    this.conversations = new Map();
    /** The pages of the lab's agent. @type {Map<string, import("./calls.mjs").Page>} */
    this.pages = new Map();
    this.rates = this.fresh();
    this.allowances = this.freshOfIdentities();
  }

  /** Rates of an address, in a minute. */
  fresh() {
    const { tokenRate, oauthRate } = this.limits;
    const now = () => this.clock.precise();
    return { token: new Allowance(tokenRate, 60, now), oauth: new Allowance(oauthRate, 60, now) };
  }

  /** Rates of an identity: messages and calls in an hour, the others in a minute. */
  freshOfIdentities() {
    const { messages, searches, histories } = this.limits;
    const now = () => this.clock.precise();
    const written = new Allowance(messages, 3600, now);
    const [search, history] = [searches, histories].map((most) => new Allowance(most, 60, now));
    return { message: written, call: written, signal: new Allowance(0, 1, now), search, history };
  }

  /** Clock and rates as at the start. */
  reset() {
    this.clock.reset();
    this.rates = this.fresh();
    this.allowances = this.freshOfIdentities();
  }

  /** @param {import("./tokens.mjs").Claims} claims */
  conversation({ pid, login, uid }) {
    const key = `${pid} ${login} ${uid}`;
    const known = this.conversations.get(key) ?? new Conversation();
    this.conversations.set(key, known);
    return known;
  }
}

/** Serve, and tell the port. @param {Service} service @returns {Promise<import("node:http").Server>} */
export async function serve(service) {
  const { tls, port } = service.settings;
  const options = { maxHeaderSize: 65_536, headersTimeout: PATIENCE_MS, requestTimeout: PATIENCE_MS, keepAliveTimeout: PATIENCE_MS };
  const server = tls
    ? createTlsServer({ ...options, cert: readFileSync(tls.cert), key: readFileSync(tls.key) })
    : createServer(options);
  server.on("request", (request, response) => void attend(service, request, response));
  server.on("upgrade", (request, stream, head) => upgrade(service, server, request, stream, head));
  await new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  return server;
}

/** @param {Service} service @param {import("node:http").IncomingMessage} request @param {ServerResponse} response */
async function attend(service, request, response) {
  const { path, query } = target(service, request);
  const [, inLab] = (service.settings.lab && /^\/lab(|\/.*)$/.exec(path)) || [];
  const given = inLab === undefined ? await answer(service, request) : await answerLab(service, request, inLab, query);
  respond(request, response, given);
}

/**
 * Accept first, and judge afterwards; what asks for something else than a WebSocket is a request like any other.
 * @param {Service} service @param {import("node:http").Server} server @param {import("node:http").IncomingMessage} request
 * @param {import("node:stream").Duplex} stream @param {Buffer} head
 */
function upgrade(service, server, request, stream, head) {
  const { path, query } = target(service, request);
  const accepted = path === "/v1/socket" ? handshake(request) : null;
  const origins = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "origin");
  if (origins.length > 1) return void stream.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  if (!accepted) {
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(/** @type {import("node:net").Socket} */ (stream));
    response.on("finish", () => stream.end());
    return void server.emit("request", request, response);
  }
  stream.write(accepted);
  new Connection(service, stream, { origin: request.headers.origin, query, address: request.socket.remoteAddress ?? "" });
  if (head.length) stream.unshift(head);
}
