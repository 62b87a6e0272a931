// @ts-check
/** Base64url in its one spelling, thumbprints (RFC 7638), and MACs. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";

export const THUMBPRINT = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;
export const VISITOR_UID = /^v_[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/** The bytes, or null for any spelling but the canonical one. @param {string} text */
export function decode(text) {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : null;
}

/** @param {string | Uint8Array} data */
export function sha256(data) {
  return createHash("sha256").update(data).digest("base64url");
}

/** @param {Record<string, unknown>} jwk a public P-256 key */
export function thumbprint(jwk) {
  return sha256(JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y }));
}

/** @param {string | Uint8Array} key @param {string} text */
export function mac(key, text) {
  return createHmac("sha256", key).update(text).digest();
}

/** @param {Uint8Array} one @param {Uint8Array} other */
export function same(one, other) {
  return one.length === other.length && timingSafeEqual(one, other);
}
