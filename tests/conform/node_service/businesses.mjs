// @ts-check
/** Businesses with their members, in memory. */

import { randomBytes } from "node:crypto";

import { origins } from "./domains.mjs";
import { Refused } from "./refusals.mjs";
import { IMPLEMENTED } from "./socials.mjs";

/**
 * @typedef {{client_id: string, client_secret: string}} Keys of an application at a social provider
 * @typedef {{key_source?: "service" | "own", enabled?: boolean} & Partial<Keys>} SocialLogin
 * @typedef {{uid: string, login: string, auth_provider: string | null, name: string | null, email: string | null,
 *   avatar: string | null}} Member
 */

/** One business: what an administrator has set, and who its members are. */
export class Business {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.secret = randomBytes(48).toString("base64url");
    /** @type {{secret: string, until: number} | null} */
    this.previous = null;
    this.enabled = true;
    this.restricted = false;
    /** @type {string[]} */
    this.origins = [];
    /** @type {Record<string, SocialLogin>} */
    this.socials = {};
    this.livechat = { enabled: true, title: "Chat with us", greeting: "Hello! How can we help?" };
    this.service = { enabled: true, title: "Call us", greeting: "We answer calls during office hours." };
    this.ui = { colour: "#4f46e5", position: "right", locale: "" };
    /** By login and uid. @type {Map<string, Member>} */
    this.members = new Map();
  }

  /** What tokens may be signed with just now. @param {number} now */
  secrets(now) {
    return this.previous && this.previous.until > now ? [this.secret, this.previous.secret] : [this.secret];
  }

  /** Write down who logged in; what this login did not tell stays. @param {Member} told */
  record(told) {
    const key = `${told.login} ${told.uid}`;
    const known = this.members.get(key);
    const member = {
      ...told,
      name: told.name ?? known?.name ?? null,
      email: told.email ?? known?.email ?? null,
      avatar: told.avatar ?? known?.avatar ?? null,
    };
    this.members.set(key, member);
    return member;
  }
}

/** All businesses, and the service's own applications at social providers. */
export class Businesses {
  constructor() {
    /** @type {Map<string, Business>} */
    this.known = new Map();
    /** @type {Record<string, Keys>} */
    this.applications = {};
  }

  /** @param {string} id @returns {Business} */
  find(id) {
    const business = this.known.get(id);
    if (!business) throw new Refused("provider_unknown", "No provider has this id.");
    return business;
  }

  /** @param {string} id */
  findOn(id) {
    const business = this.find(id);
    if (!business.enabled) throw new Refused("provider_off", "This provider is switched off.");
    return business;
  }

  /** @param {Record<string, any>} members as `change` takes them */
  add(members) {
    const business = new Business(members.id ?? `prov_${randomBytes(8).toString("hex")}`);
    change(business, members);
    this.known.set(business.id, business);
    return business;
  }

  /** The keys of a social login that is on, or null. @param {Business} business @param {string} social @returns {Keys | null} */
  keys(business, social) {
    const login = business.socials[social];
    if (!IMPLEMENTED.includes(social) || !login || login.enabled === false) return null;
    const { client_id = "", client_secret = "" } = login;
    return (login.key_source === "own" ? client_id && { client_id, client_secret } : this.applications[social]) || null;
  }

  /** @param {Business} business */
  enabledSocials(business) {
    return IMPLEMENTED.filter((social) => this.keys(business, social));
  }
}

/**
 * Set what is given, or refuse all of it.
 * @param {Business} business @param {Record<string, any>} members
 */
export function change(business, members) {
  const { domains, socials, enabled, restrict_socket_origins: restricted, secret_key: secret } = members;
  const registered = domains?.flatMap(origins);
  if (registered) business.origins = registered;
  if (socials) business.socials = { ...business.socials, ...socials };
  if (enabled !== undefined) business.enabled = enabled;
  if (restricted !== undefined) business.restricted = restricted;
  if (secret !== undefined) business.secret = secret;
  for (const [block, texts] of Object.entries(blocks(business))) {
    for (const name of Object.keys(texts)) texts[name] = members[`${block}_${name}`] ?? texts[name];
  }
}

/** What the configuration shows of it, by the beginnings of members: `livechat_title`. @param {Business} business */
function blocks({ livechat, service, ui }) {
  return /** @type {Record<string, Record<string, unknown>>} */ ({ livechat, service, ui });
}
