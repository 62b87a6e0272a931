// @ts-check
/** The start of a social login, and its callback, in the orders of docs/protocol.md. */

import { randomBytes } from "node:crypto";

import { one, optional, required } from "./parameters.mjs";
import { THUMBPRINT, decode, mac, same } from "./keys.mjs";
import { popup } from "./page.mjs";
import { Refused } from "./refusals.mjs";
import { HOW, IMPLEMENTED, SOCIALS, asFailure, consent } from "./socials.mjs";
import { sign } from "./tokens.mjs";

const LIFE = 600;
const DAY = 86_400;
const DECLINED = ["access_denied", "user_denied", "user_cancelled_authorize", "denied"];

/**
 * @typedef {import("./service.mjs").Service} Service
 * @typedef {import("./http.mjs").Asked} Asked
 * @typedef {import("./http.mjs").Answer} Answer
 * @typedef {{id: string, pid: string, social: string, origin: string, nonce: string | null, jkt: string | null,
 *   iat: number}} State
 * @typedef {{verifier: string, nonce: string, until: number}} Record what a browser may not see of a login under way
 */

/** Logins of all businesses that are under way. */
export class Logins {
  /** @param {Service} service */
  constructor(service) {
    this.service = service;
    this.key = randomBytes(32);
    /** @type {Map<string, Record>} */
    this.underWay = new Map();
  }

  /** @param {string} pid @param {string} social @param {Asked} asked @returns {Answer} */
  start(pid, social, asked) {
    /** @type {Omit<State, "id" | "iat"> | null} */
    let told = null;
    try {
      const { businesses } = this.service;
      for (const name of ["origin", "jkt", "nonce"]) one(asked.query, name);
      const origin = required(asked.query, "origin", { most: 300 });
      const business = businesses.findOn(pid);
      if (!business.origins.includes(origin)) throw new Refused("origin_not_allowed", "origin is not registered.");
      const nonce = one(asked.query, "nonce");
      told = { pid, social, origin, jkt: null, nonce: nonce && /^[A-Za-z0-9_-]{1,64}$/.test(nonce) ? nonce : null };
      checkSocial(social);
      if (!businesses.keys(business, social)) throw new Refused("social_disabled", `${social} is not enabled here.`);
      const jkt = optional(asked.query, "jkt", { form: THUMBPRINT });
      optional(asked.query, "nonce", { form: /^[A-Za-z0-9_-]{1,64}$/ });
      const location = this.consent({ ...told, jkt }, asked.method === "HEAD");
      return { status: 302, headers: { Location: location, "Cache-Control": "no-store" }, body: "" };
    } catch (error) {
      return failurePage(error, told);
    }
  }

  /** @param {Omit<State, "id" | "iat">} told @param {boolean} isLook by HEAD, which leaves no record */
  consent(told, isLook) {
    const { clock } = this.service;
    const id = random();
    const record = { verifier: random(), nonce: random(), until: clock.now() + LIFE };
    if (!isLook) this.underWay.set(id, record);
    return consent(told.social, this.flow(told, record), this.sealed({ ...told, id, iat: clock.now() }));
  }

  /** @param {Omit<State, "id" | "iat">} told @param {Record} record @returns {import("./socials.mjs").Flow} */
  flow({ pid, social }, { verifier, nonce }) {
    const { businesses, clock, settings } = this.service;
    const keys = businesses.keys(businesses.findOn(pid), social);
    if (!keys) throw new Refused("social_disabled", `${social} is not enabled here any more.`);
    const redirectUri = `${settings.base_url}/v1/public/oauth/${social}/callback`;
    return { place: settings.socials[social], keys, redirectUri, nonce, verifier, now: clock.now() };
  }

  /** @param {string} social @param {Asked} asked @returns {Promise<Answer>} */
  async callback(social, asked) {
    /** @type {State | null} */
    let told = null;
    try {
      checkSocial(social);
      for (const name of ["state", "code", "error", "error_reason", "error_code", "iss"]) one(asked.query, name);
      const state = required(asked.query, "state");
      const opened = this.opened(state, social);
      told = opened;
      if (this.service.clock.now() >= opened.iat + LIFE) throw new Refused("state_expired", "This sign-in took too long.");
      if (asked.method === "HEAD") return page(200, "You are on your way.", null, "");
      const record = this.taken(opened);
      const code = this.code(social, asked);
      return await this.signedIn(opened, this.flow(opened, record), code);
    } catch (error) {
      return failurePage(error, told);
    }
  }

  /** @param {State} state @param {import("./socials.mjs").Flow} flow @param {string} code @returns {Promise<Answer>} */
  async signedIn({ pid, social, origin, nonce, jkt }, flow, code) {
    const business = this.service.businesses.findOn(pid);
    const person = await HOW[social].who(flow, code).catch((error) => Promise.reject(asFailure(error)));
    const uid = `${social}:${person.sub}`;
    if (Array.from(uid).length > 255) throw new Refused("oauth_failed", "The social provider's subject is too long.");
    const { name, email, avatar } = business.record({ ...person, uid, login: "social", auth_provider: social });
    const iat = this.service.clock.now();
    const cnf = jkt ? { cnf: { jkt } } : {};
    const data = { auth_provider: social, avatar };
    const claims = { pid, uid, type: "identity", iat, exp: iat + DAY, ...cnf, name, email, data };
    const message = { ...heading({ pid, social, nonce }), token: sign(claims, business.secret) };
    return page(200, "You are signed in.", message, origin);
  }

  /** The code that came, unless an error did. @param {string} social @param {Asked} asked */
  code(social, { query }) {
    const error = one(query, "error");
    const reasons = [error, one(query, "error_reason")];
    if (reasons.some((reason) => reason && DECLINED.includes(reason))) {
      throw new Refused("oauth_denied", "Signing in was declined.");
    }
    if (error !== null || one(query, "error_code") !== null) {
      throw new Refused("oauth_failed", "The social provider told of an error.");
    }
    const iss = one(query, "iss");
    if (iss !== null && !this.service.settings.socials[social].issuers.includes(iss)) {
      throw new Refused("parameter_invalid", "iss is not the social provider's.");
    }
    return required(query, "code", { form: /^[\x21-\x7e]{1,2048}$/ });
  }

  /** @param {State} state */
  sealed(state) {
    const text = Buffer.from(JSON.stringify(state)).toString("base64url");
    return `${text}.${mac(this.key, text).toString("base64url")}`;
  }

  /** @param {string} sealed @param {string} social @returns {State} */
  opened(sealed, social) {
    const invalid = new Refused("state_invalid", "The state was not made here, or is another's.");
    const [text, tag = "", ...more] = sealed.split(".");
    const given = decode(tag);
    if (sealed.length > 1024 || more.length || !given || !same(mac(this.key, text), given)) throw invalid;
    const state = /** @type {State} */ (JSON.parse(Buffer.from(text, "base64url").toString()));
    const business = this.service.businesses.known.get(state.pid);
    if (state.social !== social || !business?.origins.includes(state.origin)) throw invalid;
    return state;
  }

  /** @param {State} state */
  taken({ id }) {
    const record = this.underWay.get(id);
    this.underWay.delete(id);
    if (!record) throw new Refused("state_used", "This sign-in has been completed once already.");
    return record;
  }
}

/**
 * A refusal as a page, which tells the opener where it may be told.
 * @param {unknown} error @param {{pid: string, social: string, origin: string, nonce: string | null} | null} [told]
 * @returns {Answer}
 */
export function failurePage(error, told = null) {
  if (!(error instanceof Refused)) throw error;
  const { code, message, status } = error;
  const answer = page(status, message, told && { ...heading(told), error: { code, message } }, told?.origin ?? "");
  return { ...answer, refused: error };
}

/** @param {{pid: string, social: string, nonce: string | null}} state */
function heading({ pid, social, nonce }) {
  return { type: "wf:oauth", providerId: pid, social, ...(nonce ? { nonce } : {}) };
}

/** @param {number} status @param {string} sentence @param {object | null} message @param {string} origin @returns {Answer} */
function page(status, sentence, message, origin) {
  return { status, ...popup(sentence, message, origin) };
}

/** @param {string} social */
function checkSocial(social) {
  if (!IMPLEMENTED.includes(social)) {
    const known = SOCIALS.includes(social) ? "is not offered by this service" : "is no social provider";
    throw new Refused("social_unknown", `${social} ${known}.`);
  }
}

function random() {
  return randomBytes(32).toString("base64url");
}
