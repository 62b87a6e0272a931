// A getToken endpoint in Next.js (App Router). It needs jose; README.md says how to run it.

import { SignJWT } from "jose";
import { currentPerson } from "../../../lib/session.js";

const { CHAT_PROVIDER_ID, CHAT_SECRET_KEY } = process.env; // without NEXT_PUBLIC_, which would put them into pages
const JKT = /^[A-Za-z0-9_-]{43}$/;
const LARGEST = 10_000; // characters; Next.js itself sets no limit for route handlers
const headers = { "Cache-Control": "no-store" };

// Only POST: Next.js answers 405 to other methods. A server action would be no address that getToken can call.
export async function POST(request) {
  const jkt = await jktOf(request);
  // The type first: RegExp.test turns ["x"] and 42 into text.
  if (typeof jkt !== "string" || !JKT.test(jkt)) {
    const error = "jkt must be the text that the widget passes to getToken";
    return Response.json({ error }, { status: 400, headers });
  }
  const person = await currentPerson(); // from your session, never from the body
  const token = person ? await tokenFor(person, jkt) : null; // a visitor gets null: not 401, not a redirect
  return Response.json({ token }, { headers });
}

async function jktOf(request) {
  const type = request.headers.get("content-type") ?? "";
  const size = Number(request.headers.get("content-length") ?? Infinity);
  if (!type.startsWith("application/json") || size > LARGEST) return null; // a form of another site can send text/plain
  try {
    return (await request.json())?.jkt;
  } catch {
    return null; // no JSON
  }
}

async function tokenFor({ id, name }, jkt) {
  // uid as text, an id that never changes. jkt inside cnf, unchanged.
  const claims = { pid: CHAT_PROVIDER_ID, uid: id, type: "user", cnf: { jkt }, name };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .setIssuedAt()
    .setExpirationTime("1h") // a number would be a time, not a lifetime
    .sign(new TextEncoder().encode(CHAT_SECRET_KEY)); // the text as you got it, not base64
}
