// A getToken endpoint in Express. It needs express, express-session and jsonwebtoken; README.md says how to run it.

import { timingSafeEqual, createHash } from "node:crypto";
import express from "express";
import session from "express-session";
import jwt from "jsonwebtoken";

const { CHAT_PROVIDER_ID, CHAT_SECRET_KEY, LOGIN_PASSWORD, SESSION_KEY, PORT } = process.env;
// Without this, a variable that is not set signs with the text "undefined".
if (!CHAT_PROVIDER_ID || !CHAT_SECRET_KEY) throw new Error("Set CHAT_PROVIDER_ID and CHAT_SECRET_KEY.");
const PEOPLE = { ada: [1001, "Ada Lindqvist"], bo: [1002, "Bo Sørensen"] }; // stands for your customers

const app = express(); // without cors(): page and endpoint have the same origin
app.use(
  session({
    secret: SESSION_KEY, // Express's own; what signs the tokens is CHAT_SECRET_KEY
    cookie: { httpOnly: true, sameSite: "lax", secure: "auto" }, // Lax keeps other sites from using it
    resave: false,
    saveUninitialized: false,
  }),
);

// post, not all or use: what GET answers is cached. json() takes application/json only, text/plain is for strangers.
app.post("/chat/token", express.json({ limit: "10kb" }), (request, response) => {
  response.set("Cache-Control", "no-store");
  const jkt = request.body?.jkt; // of the body, not of request.query or request.params
  // The type first: RegExp.test turns ["x"] and 42 into text.
  if (typeof jkt !== "string" || !/^[A-Za-z0-9_-]{43}$/.test(jkt)) {
    return response.status(400).json({ error: "jkt must be the text that the widget passes to getToken" });
  }
  // Who it is comes from your session, never from the body; in a const, not in a variable that requests share.
  const person = Object.hasOwn(PEOPLE, request.session.user ?? "") ? PEOPLE[request.session.user] : null;
  if (!person) return response.json({ token: null }); // a visitor: not 401, not a redirect, not a token for a guest
  const [uid, name] = person;
  // uid as text; an id that never changes, not the e-mail address. jkt inside cnf, unchanged.
  const claims = { pid: CHAT_PROVIDER_ID, uid: String(uid), type: "user", cnf: { jkt }, name };
  // In seconds: the text "3600" would be milliseconds, and so is Date.now(). The secret is text: no Buffer.from(…, "hex").
  const token = jwt.sign(claims, CHAT_SECRET_KEY, { algorithm: "HS256", expiresIn: 3600 });
  response.json({ token }); // made for each call: one that is kept goes to the wrong browser
});

app.post("/login", express.urlencoded({ extended: false }), (request, response) => { // stands for your own login
  const { user, password } = request.body;
  const [given, wanted] = [password, LOGIN_PASSWORD].map((text) => createHash("sha256").update(`${text}`).digest());
  if (!Object.hasOwn(PEOPLE, user) || !LOGIN_PASSWORD || !timingSafeEqual(given, wanted)) return response.sendStatus(403);
  request.session.regenerate(() => {
    request.session.user = user;
    response.redirect(303, "/");
  });
});

// On the server: deleting the cookie would leave the session to whoever copied it.
app.post("/logout", (request, response) => request.session.destroy(() => response.redirect(303, "/")));

// Without it, Express shows the stack of an error, for instance of JSON that breaks off.
app.use((error, _request, response, _next) => response.status(error.status ?? 500).json({ error: "bad request" }));
app.listen(Number(PORT ?? 8000), "127.0.0.1");
