// @ts-check
/** Registered domains, and the origins they stand for (docs/protocol.md, docs/decisions.md D-08). */

import { domainToASCII } from "node:url";

import { Refused } from "./refusals.mjs";

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const FOUR = /^(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}$/;

/** @param {string} domain a host with an optional port, as an administrator writes it @returns {string[]} */
export function origins(domain) {
  const found = /^(\[[0-9a-fA-F:.]+\]|[^:/@\\?#\s[\]*%]+)(?::([1-9][0-9]{0,4}))?$/.exec(domain);
  const port = Number(found?.[2] ?? 443);
  const host = found && serialised(found[1]);
  if (!host || port < 1 || port > 65_535) {
    throw new Refused("parameter_invalid", "A domain is a host, with a port if it has one: shop.example:8443.");
  }
  const at = (/** @type {string} */ scheme, /** @type {number} */ usual) =>
    `${scheme}://${host}${found?.[2] === undefined || port === usual ? "" : `:${port}`}`;
  return isLoopback(host) ? [at("https", 443), at("http", 80)] : [at("https", 443)];
}

/** @param {string} host */
export function isLoopback(host) {
  return /(^|\.)localhost$/.test(host) || (FOUR.test(host) && host.startsWith("127.")) || host === "[::1]";
}

/**
 * The host of an `Origin` as browsers write one. Refuses what is no web origin, and plain http that is not loopback.
 * @param {string} origin
 */
export function checkPage(origin) {
  const url = URL.canParse(origin) ? new URL(origin) : null;
  if (!url || url.origin !== origin || !/^https?:$/.test(url.protocol)) {
    throw new Refused("origin_not_allowed", "The page has no web origin.");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new Refused("insecure_origin", "The page came by plain http; serve it over https.");
  }
}

/** @param {string} host */
function serialised(host) {
  if (host.startsWith("[")) return URL.canParse(`https://${host}`) ? new URL(`https://${host}`).hostname : null;
  const ascii = domainToASCII(host);
  if (!HOST.test(ascii) || ascii.length > 253) return null;
  const isNumber = /(^|\.)(0x[0-9a-f]*|[0-9]+)$/.test(ascii);
  return isNumber && !(FOUR.test(ascii) && host === ascii) ? null : ascii;
}
