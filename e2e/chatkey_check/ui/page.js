"use strict";

/** @typedef {{ id: number, label: string, method: string, url: string, headers: string, body: string, status: number,
 *   milliseconds: number, answer: string, curl: string }} Call */
/** @typedef {{ id: string, verdict: string, message: string, why?: string, hint?: string,
 *   fix?: { change: string, examples: Record<string, string> } | null }} Found */

/** @template {HTMLElement} T @param {string} id @param {new () => T} kind */
function at(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`no ${id}`);
  return found;
}

/** @param {string} tag @param {string} text @param {string} [name] */
function made(tag, text, name) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (name) element.className = name;
  return element;
}

const list = at("list", HTMLOListElement);
const search = at("search", HTMLInputElement);
const editor = at("editor", HTMLFormElement);
const note = at("note", HTMLElement);
const fields = {
  method: at("method", HTMLInputElement),
  url: at("url", HTMLInputElement),
  headers: at("headers", HTMLTextAreaElement),
  body: at("body", HTMLTextAreaElement),
};
let calls = /** @type {Call[]} */ ([]);
let chosen = /** @type {Call | undefined} */ (undefined);

/** @param {string} place @param {object} [asked] */
async function ask(place, asked) {
  const how = asked && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) };
  const answer = await fetch(place, how).catch(() => {
    throw new Error("chatkey check is not running. Start it again.");
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

/** @param {unknown} error */
const said = (error) => (error instanceof Error ? error.message : String(error));

/** @param {number} status */
const tone = (status) => (status === 0 || status >= 500 ? "fail" : status >= 400 ? "warn" : "pass");

function showList() {
  const word = search.value.trim().toLowerCase();
  const wanted = calls.filter((call) => `${call.status} ${call.label} ${call.body}`.toLowerCase().includes(word));
  list.replaceChildren(
    ...wanted.map((call) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      if (call === chosen) button.setAttribute("aria-current", "true");
      button.append(made("code", call.status ? String(call.status) : "—", tone(call.status)), made("span", call.label));
      button.append(made("span", `${call.milliseconds} ms`, "quiet"));
      button.addEventListener("click", () => choose(call));
      item.append(button);
      return item;
    }),
  );
  if (!wanted.length) list.append(made("li", calls.length ? "No call matches." : "No calls were made.", "quiet"));
}

/** @param {Call} call */
function choose(call) {
  chosen = call;
  const inList = list.contains(document.activeElement);
  editor.hidden = false;
  at("label", HTMLElement).textContent = call.label;
  for (const [name, field] of Object.entries(fields)) field.value = call[/** @type {keyof typeof fields} */ (name)];
  at("took", HTMLElement).textContent = `${call.milliseconds} ms`;
  at("answer", HTMLElement).textContent = call.answer;
  note.textContent = "";
  showList();
  const current = /** @type {HTMLElement | null} */ (list.querySelector("[aria-current]"));
  if (inList) current?.focus({ preventScroll: true });
}

/** @param {Found} found */
function finding(found) {
  const item = document.createElement("li");
  const first = made("p", "");
  first.append(made("b", found.id, found.verdict));
  item.append(first, made("p", found.message));
  const change = found.fix?.change ?? found.hint;
  if (change) item.append(made("p", `→ ${change}`));
  for (const [language, line] of Object.entries(found.fix?.examples ?? {})) {
    const code = made("pre", line);
    code.tabIndex = 0;
    code.setAttribute("aria-label", language);
    item.append(made("span", language, "quiet"), code);
  }
  if (found.why) item.append(made("p", found.why, "quiet"));
  return item;
}

/** Show how far the run is, until somebody hides it. */
async function follow() {
  const running = at("running", HTMLElement);
  running.hidden = false;
  while (!running.hidden) {
    const told = await ask("progress").catch(() => ({ done: 0, total: 0, now: "" })); // `show` reports the error
    const bar = at("progress", HTMLProgressElement);
    if (told.total) [bar.max, bar.value] = [told.total, told.done];
    at("now", HTMLElement).textContent = told.total ? `${told.done} of ${told.total} checks · ${told.now}` : "";
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** @param {string} place @param {object} [asked] */
async function show(place, asked) {
  const headline = at("headline", HTMLElement);
  const again = at("again", HTMLButtonElement);
  again.disabled = true;
  headline.className = "";
  headline.textContent = "Checking…";
  follow();
  try {
    const state = await ask(place, asked);
    headline.textContent = state.headline;
    headline.className = state.tone;
    document.title = `${state.headline} · chatkey check`;
    at("target", HTMLElement).textContent = state.target;
    at("about", HTMLElement).textContent = state.about;
    at("found-section", HTMLElement).hidden = !state.findings.length;
    at("findings", HTMLElement).replaceChildren(...state.findings.map(finding));
    calls = state.calls;
    chosen = undefined;
    editor.hidden = true;
    showList();
    const first = calls[state.first];
    if (first) choose(first);
  } catch (error) {
    headline.textContent = said(error);
    headline.className = "fail";
  }
  at("running", HTMLElement).hidden = true;
  again.disabled = false;
}

at("again", HTMLButtonElement).addEventListener("click", () => show("run", {}));
at("reset", HTMLButtonElement).addEventListener("click", () => chosen && choose(chosen));
at("copy", HTMLButtonElement).addEventListener("click", async () => {
  const copied = await navigator.clipboard.writeText(chosen?.curl ?? "").then(
    () => true,
    () => false,
  );
  note.textContent = copied ? "Copied the original call." : "The browser does not allow copying.";
});
search.addEventListener("input", showList);
list.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...list.querySelectorAll("button")];
  const here = buttons.findIndex((button) => button === document.activeElement);
  const next = step && buttons[here + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});
editor.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!chosen) return;
  note.className = "note";
  note.textContent = "Sending…";
  const values = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
  try {
    const call = /** @type {Call} */ (await ask("send", { id: chosen.id, ...values }));
    calls.push(call);
    choose(call);
    note.textContent = `${call.status ? `Status ${call.status}` : "No answer"}; added at the end of the calls.`;
  } catch (error) {
    note.textContent = said(error);
    note.className = "note fail";
  }
});
at("token-form", HTMLFormElement).addEventListener("submit", async (event) => {
  event.preventDefault();
  const place = at("explained", HTMLElement);
  try {
    const told = await ask("token", { token: at("token", HTMLTextAreaElement).value });
    const count = told.findings.length;
    const findings = made("ul", "", "findings");
    findings.append(...told.findings.map(finding));
    const verdict = count ? `${count} of ${count + told.passed} checks found something` : "No problem found";
    place.replaceChildren(made("h3", verdict, count ? "fail" : "pass"), ...(count ? [findings] : []));
    for (const [title, text] of [["Header", told.header], ["Claims", told.claims]]) {
      if (text) place.append(made("h3", title), made("pre", text));
    }
  } catch (error) {
    place.replaceChildren(made("p", said(error), "fail"));
  }
});
show("state");
