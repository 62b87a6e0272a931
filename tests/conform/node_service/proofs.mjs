// @ts-check
/** The proof of a `connect`, in the order of docs/socket.md. */

import { createPublicKey, verify } from "node:crypto";

import { NotJson, isInteger, length, object, parse } from "./json.mjs";
import { decode, sha256, thumbprint } from "./keys.mjs";
import { Refused } from "./refusals.mjs";

const PRIME = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
const FOREVER = 9_999_999_999;
const MOST = 4096;

/**
 * Check a proof against its connection.
 * @param {string} proof
 * @param {{token: string, jkt: string | null, nonce: string | null, htu: string, now: number}} on `nonce` is null once
 *   it is spent
 */
export function checkProof(proof, on) {
  const { htm, htu, nonce, ath } = signedClaims(proof, "wf-proof+jwt", OF_SOCKETS, on);
  if (nonce !== on.nonce) throw new Refused("proof_nonce", "The nonce is not the unused one of this connection.");
  if (htm !== "GET") throw new Refused("proof_htm", "htm has to be GET.");
  if (plain(htu) !== plain(on.htu)) throw new Refused("proof_htu", "htu has to be socket_uri.");
  if (ath !== sha256(on.token)) throw new Refused("proof_ath", "ath is not the hash of the token beside it.");
}

/**
 * Check the proof of a call's audio against the call, the newest offer and the answer.
 * @param {string} proof
 * @param {{jkt: string | null, now: number, callId: string, nonce: string | null, fingerprint: string,
 *   peerFingerprint: string}} on `nonce` is null without an offer that is still to be answered
 */
export function checkCallProof(proof, on) {
  const claims = signedClaims(proof, "wf-call-proof+jwt", OF_CALLS, on);
  if (claims.call_id !== on.callId) throw new Refused("proof_call", "The proof is for another call.");
  if (on.nonce === null || on.nonce !== claims.nonce) throw new Refused("proof_nonce", "The nonce is not the newest offer's.");
  if (claims.fingerprint !== on.fingerprint) throw new Refused("proof_fingerprint", "The answer's fingerprint is another.");
  if (claims.peer_fingerprint !== on.peerFingerprint) {
    throw new Refused("proof_fingerprint", "The offer's fingerprint is another.");
  }
}

/**
 * The claims of a proof of this kind, signed by the key that the socket is bound to.
 * @param {string} proof @param {string} typ @param {Record<string, Check>} own the claims of this kind
 * @param {{jkt: string | null, now: number}} on @returns {Record<string, string>}
 */
function signedClaims(proof, typ, own, on) {
  const { header, claims, signed, signature } = readForm(proof);
  if (header.typ !== typ) throw new Refused("proof_typ", `typ has to be ${typ}.`);
  if (header.alg !== "ES256") throw new Refused("proof_alg", "alg has to be ES256.");
  const jwk = publicKey(header.jwk);
  const read = readClaims(claims, own, on.now);
  const key = createPublicKey({ key: { kty: "EC", crv: "P-256", x: jwk.x, y: jwk.y }, format: "jwk" });
  if (signature.length !== 64 || !verify("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }, signature)) {
    throw new Refused("proof_signature", "The signature does not verify; raw r and s, 64 bytes, are wanted.");
  }
  if (thumbprint(jwk) !== on.jkt) throw new Refused("proof_key_mismatch", "The token is bound to another key.");
  return read;
}

/** @param {string} proof */
function readForm(proof) {
  const segments = proof.split(".");
  const [header, claims, signature] = segments.map(decode);
  if (proof.length > MOST || segments.length !== 3 || !header || !claims || !signature) {
    throw new Refused("proof_malformed", `A proof is a compact JWS of at most ${MOST} characters.`);
  }
  const members = strict(header);
  if ("crit" in members) throw new Refused("proof_malformed", "crit is not understood.");
  return { header: members, claims: strict(claims), signed: `${segments[0]}.${segments[1]}`, signature };
}

/** @param {Uint8Array} bytes */
function strict(bytes) {
  try {
    const members = object(parse(bytes));
    if (members) return members;
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    throw new Refused("proof_malformed", `The proof's JSON is not strict: ${error.message}.`);
  }
  throw new Refused("proof_malformed", "Header and claims are JSON objects.");
}

/** @param {unknown} value */
function publicKey(value) {
  const jwk = object(value);
  const refused = new Refused("proof_jwk", "jwk has to be one public P-256 key in its one spelling.");
  if (!jwk || jwk.kty !== "EC" || jwk.crv !== "P-256" || PRIVATE.some((name) => name in jwk)) throw refused;
  const { x, y, use = "sig", alg = "ES256", key_ops: operations = ["verify"] } = jwk;
  if (use !== "sig" || alg !== "ES256") throw refused;
  if (!Array.isArray(operations) || !operations.includes("verify")) throw refused;
  if (typeof x !== "string" || typeof y !== "string" || !isPoint(decode(x), decode(y))) throw refused;
  return { kty: "EC", crv: "P-256", x, y };
}

/** @param {Buffer | null} left @param {Buffer | null} right */
function isPoint(left, right) {
  if (left?.length !== 32 || right?.length !== 32) return false;
  const [x, y] = [left, right].map((bytes) => BigInt(`0x${bytes.toString("hex")}`));
  return x < PRIME && y < PRIME && (y * y - (x * x * x - 3n * x + B)) % PRIME === 0n;
}

/** @param {unknown} value */
const text = (value, most = 256) => typeof value === "string" && value !== "" && length(value) <= most;

/** @typedef {(value: unknown) => boolean} Check */
/** @type {Record<string, Check>} */
const OF_SOCKETS = { htm: (value) => typeof value === "string", htu: (value) => text(value, 2048), ath: (value) => text(value) };
/** @type {Record<string, Check>} */
const OF_CALLS = Object.fromEntries(
  ["call_id", "fingerprint", "peer_fingerprint"].map((name) => [name, (/** @type {unknown} */ value) => text(value)]),
);

/** @param {Record<string, unknown>} claims @param {Record<string, Check>} own @param {number} now */
function readClaims(claims, own, now) {
  const { jti, iat, nonce, exp = null, nbf = null } = claims;
  const right = {
    jti: text(jti), iat: isInteger(iat, 0, FOREVER), nonce: text(nonce),
    exp: exp === null || (isInteger(exp, 0, FOREVER) && exp > now),
    nbf: nbf === null || (isInteger(nbf, 0, FOREVER) && nbf <= now + 60),
    ...Object.fromEntries(Object.entries(own).map(([name, is]) => [name, is(claims[name])])),
  };
  const wrong = Object.entries(right).find(([, is]) => !is);
  if (wrong) throw new Refused("proof_claims", `${wrong[0]} of the proof is missing, not of its form, or out of its time.`);
  return /** @type {Record<string, string>} */ (claims);
}

/** An address without query and fragment, with its default port left out. @param {string} address */
function plain(address) {
  const found = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)/i.exec(address);
  if (!found) return null;
  const scheme = found[1].toLowerCase();
  const port = { ws: ":80", wss: ":443" }[scheme] ?? "";
  const host = found[2].toLowerCase();
  return `${scheme}://${port && host.endsWith(port) ? host.slice(0, -port.length) : host}${found[3]}`;
}
