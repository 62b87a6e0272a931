// Stands for your own session store, such as that of Auth.js with a database.

import { randomBytes, timingSafeEqual, createHash } from "node:crypto";
import { cookies } from "next/headers";

const PEOPLE = { ada: { id: "1001", name: "Ada Lindqvist" }, bo: { id: "1002", name: "Bo Sørensen" } };
// Next.js bundles each route on its own, so a variable of this module would exist once for each route.
const sessions = (globalThis.exampleSessions ??= new Map());

export async function currentPerson() {
  return sessions.get((await cookies()).get("sid")?.value) ?? null;
}

export async function begin(user, password) {
  const [given, wanted] = [password, process.env.LOGIN_PASSWORD].map((text) => createHash("sha256").update(`${text}`).digest());
  if (!Object.hasOwn(PEOPLE, user) || !timingSafeEqual(given, wanted)) return false;
  const sid = randomBytes(32).toString("base64url");
  sessions.set(sid, PEOPLE[user]);
  // Lax keeps other sites from using the cookie.
  (await cookies()).set("sid", sid, { httpOnly: true, secure: true, sameSite: "lax", path: "/" });
  return true;
}

export async function end() {
  sessions.delete((await cookies()).get("sid")?.value); // on the server: otherwise a copied cookie would still work
}
