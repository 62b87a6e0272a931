// @ts-check
/** Run the published vectors: `node vectors.mjs vectors.json`. Writes a line for each case that does not hold. */

import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

import { Business } from "./businesses.mjs";
import { origins } from "./domains.mjs";
import { decode, mac, sha256, thumbprint } from "./keys.mjs";
import { checkCallProof, checkProof } from "./proofs.mjs";
import { Refused } from "./refusals.mjs";
import { minute, readIdentityToken, readSocketToken, visitorEnd, visitorKey } from "./tokens.mjs";

const MOST = 8192;

const vectors = JSON.parse(readFileSync(process.argv[2], "utf-8"));
let held = 0;

/** @param {string} id @param {unknown} wanted @param {() => unknown} act */
function check(id, wanted, act) {
  const got = outcome(act);
  if (JSON.stringify(got) === JSON.stringify(wanted)) held += 1;
  else console.log(`${id}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
}

/** @param {() => unknown} act */
function outcome(act) {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: error.code, close: error.close, status: error.status };
  }
}

/** The refusal of a case, at the door it is shown at. @param {any} wanted */
function refusal({ refused, close, status }) {
  const only = outcome(() => {
    throw new Refused(refused, "");
  });
  const { close: itsClose, status: itsStatus } = /** @type {{close: number, status: number}} */ (only);
  return { refused, close: close ?? itsClose, status: status ?? itsStatus };
}

/** @param {string} pid @param {string} secret */
function business(pid, secret) {
  const made = new Business(pid);
  made.secret = secret;
  return made;
}

for (const { id, jwk, jkt, wf_visitor_uid } of vectors.thumbprints) {
  check(`thumbprints ${id}`, [jkt, wf_visitor_uid], () => [thumbprint(jwk), `v_${thumbprint(jwk)}`]);
}

for (const { secret_key, iat, ...wanted } of vectors.visitor_keys) {
  const key = () => visitorKey(secret_key, iat).toString("base64url");
  check(`visitor_keys ${iat}`, wanted, () => ({ minute: minute(iat), key: key(), exp: visitorEnd(iat) }));
}

for (const { token, ath } of vectors.token_hashes) check(`token_hashes ${token}`, ath, () => sha256(token));

for (const wanted of vectors.domains) {
  const right = wanted.refused ? refusal(wanted) : wanted.origins;
  check(`domains ${wanted.domain}`, right, () => origins(wanted.domain));
}

{
  const { pid, secret_key, now, jkt } = vectors.tokens.given;
  const known = business(pid, secret_key);
  const find = (/** @type {string} */ id) => {
    if (id !== pid) throw new Refused("provider_unknown", "");
    return known;
  };
  for (const { id, token, shown_as, accepted, ...wanted } of vectors.tokens.cases) {
    if (shown_as === "auth") {
      check(`tokens ${id}`, accepted ? "accepted" : refusal(wanted), () => {
        const claims = readIdentityToken(token, { business: known, now, most: MOST });
        if (claims.jkt !== null && claims.jkt !== jkt) throw new Refused("token_key_mismatch", "");
        return "accepted";
      });
    } else {
      check(`tokens ${id}`, accepted ?? refusal(wanted), () => {
        const { login, uid, jkt: bound, exp } = readSocketToken(token, { find, now, most: MOST });
        if (bound !== jkt) throw new Refused("proof_key_mismatch", "");
        return { login, uid, jkt: bound, expires_at: exp };
      });
    }
  }
}

{
  const { held: heldToken, pid, secret_key, now } = vectors.refreshes.given;
  const known = business(pid, secret_key);
  const changed = new Refused("identity_changed", "");
  const by = {
    now,
    most: MOST,
    find: (/** @type {string} */ id) => {
      if (id !== pid) throw changed;
      return known;
    },
  };
  const before = readSocketToken(heldToken, by);
  for (const { id, token, expires_at, ...wanted } of vectors.refreshes.cases) {
    check(`refreshes ${id}`, expires_at ?? refusal(wanted), () => {
      const { login, uid, jkt, exp } = readSocketToken(token, by);
      if (login !== before.login || uid !== before.uid || jkt !== before.jkt) throw changed;
      return Math.max(exp, before.exp);
    });
  }
}

for (const { id, proof, accepted, ...wanted } of vectors.proofs.cases) {
  check(`proofs ${id}`, accepted ?? refusal(wanted), () => {
    checkProof(proof, vectors.proofs.given);
    return true;
  });
}

for (const { id, proof, accepted, ...wanted } of vectors.call_proofs.cases) {
  const { call_id: callId, peer_fingerprint: peerFingerprint, ...given } = vectors.call_proofs.given;
  check(`call_proofs ${id}`, accepted ?? refusal(wanted), () => {
    checkCallProof(proof, { callId, peerFingerprint, ...given });
    return true;
  });
}

{
  const { given, proof } = vectors.proof_making;
  const { socket_uri: htu, token, nonce, now, jwk } = given;
  check("proof_making", true, () => {
    checkProof(proof, { htu, token, nonce, now, jkt: thumbprint(jwk) });
    return true;
  });
}

for (const [section, example] of Object.entries(vectors.published)) {
  const { jwk, jkt, access_token, ath, k, jws } = example;
  if (jwk?.kty === "EC" && jkt) check(section, jkt, () => thumbprint(jwk));
  if (access_token) check(section, ath, () => sha256(access_token));
  const [header, payload, tag] = (jws ?? "").split(".");
  if (k) check(section, tag, () => mac(/** @type {Buffer} */ (decode(k)), `${header}.${payload}`).toString("base64url"));
  if (jws && jwk) {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const signature = /** @type {Buffer} */ (decode(tag));
    const data = Buffer.from(`${header}.${payload}`);
    check(section, true, () => verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature));
  }
}

console.log(`${held} held`);
