// @ts-check
/**
 * Verdicts of the service in Node, which was written from the published pages: reads a question per line from standard
 * input, and writes a line with the answer, or with the code of the refusal.
 */

import { createPublicKey, verify } from "node:crypto";
import { createInterface } from "node:readline";

import { Business } from "../../../conform/node_service/businesses.mjs";
import { origins } from "../../../conform/node_service/domains.mjs";
import { readFrame } from "../../../conform/node_service/frames.mjs";
import { Fraction, NotJson, parse } from "../../../conform/node_service/json.mjs";
import { decode } from "../../../conform/node_service/keys.mjs";
import { checkProof } from "../../../conform/node_service/proofs.mjs";
import { Refused } from "../../../conform/node_service/refusals.mjs";
import { readIdentityToken, readSocketToken } from "../../../conform/node_service/tokens.mjs";

/** @type {Record<string, (asked: any) => unknown>} */
const ANSWERS = {
  token({ token, pid, secrets, now, wanted }) {
    const business = new Business(pid);
    [business.secret] = secrets;
    if (secrets.length > 1) business.previous = { secret: secrets[1], until: Infinity };
    const by = { business, find: () => business, now, most: 8192 };
    const { uid, login, jkt, exp } = (wanted === "socket" ? readSocketToken : readIdentityToken)(token, by);
    return [uid, login, jkt, exp];
  },
  proof: ({ proof, ...on }) => checkProof(proof, on),
  signature: ({ jwk, signature, signed }) => {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const [data, made] = [signed, signature].map((text) => Buffer.from(text, "base64url"));
    return verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, made);
  },
  frame: ({ text, most }) => {
    if (Buffer.byteLength(text) > most) throw new Refused("frame_too_large", "");
    readFrame(text);
  },
  domain: ({ domain }) => origins(domain),
  base64url: ({ text }) => decode(text)?.toString("hex") ?? null,
  json: ({ raw }) => {
    try {
      return [parse(Buffer.from(raw, "hex"))];
    } catch (error) {
      if (error instanceof NotJson) return null;
      throw error;
    }
  },
};

/** Numbers that Python and JavaScript write differently become words. @param {string} _ @param {unknown} value */
function comparable(_, value) {
  if (value instanceof Fraction) return "a fraction";
  return typeof value === "number" && !(Math.abs(value) < 2 ** 53) ? "a large number" : value;
}

/** @param {string} line */
function answer(line) {
  const { about, ...asked } = JSON.parse(line);
  try {
    return { answer: ANSWERS[about](asked) ?? null };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: error.code };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(line), comparable)}\n`);
}
