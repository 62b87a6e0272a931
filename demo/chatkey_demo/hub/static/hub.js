// The demo's page: four tabs, the shop and its widget's inner life side by side, and the agent.

import { Inspector } from "./inspector.js";
import { Watch } from "./watch.js";

/**
 * @typedef {{ key: string, origin: string }} Mode
 * @typedef {ReturnType<typeof tabOf>} Tab
 */

/**
 * An element that the page has by its template.
 * @template {Element} [Kind=HTMLElement]
 * @param {ParentNode} place @param {string} selector
 */
const the = (place, selector) => /** @type {Kind} */ (place.querySelector(selector));

/** @type {Mode[]} */
const modes = JSON.parse(the(document, "#modes").textContent ?? "");
const tabs = new Map(modes.map((mode) => [mode.key, tabOf(mode)]));

/** @param {Mode} mode */
function tabOf(mode) {
  const panel = the(document, `#mode-${mode.key}`);
  const frame = /** @type {HTMLIFrameElement} */ (the(panel, "iframe"));
  const watch = new Watch(mode, frame);
  const inspector = new Inspector(the(panel, "[data-watch]"), watch);
  return { mode, panel, frame, watch, inspector, button: the(document, `#tab-${mode.key}`) };
}

// tabs

function chosen() {
  return tabs.get(location.hash.slice(1)) ?? /** @type {Tab} */ (tabs.values().next().value);
}

function show() {
  const current = chosen();
  for (const tab of tabs.values()) {
    const selected = tab === current;
    tab.panel.hidden = !selected;
    tab.button.setAttribute("aria-selected", String(selected));
    tab.button.tabIndex = selected ? 0 : -1;
  }
  // A shop opens with its tab, and stays: each boots a Python of its own.
  if (!current.frame.src) current.frame.src = current.frame.dataset.src ?? "";
  current.inspector.draw();
}

/** @param {string} key */
function choose(key) {
  history.replaceState(null, "", `#${key}`);
  show();
}

/** @param {KeyboardEvent} event */
function step(event) {
  const keys = [...tabs.keys()];
  const at = keys.indexOf(chosen().mode.key);
  /** @type {Record<string, number>} */
  const ways = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: keys.length - 1 };
  const to = ways[event.key];
  if (to === undefined) return;
  event.preventDefault();
  choose(keys.at(to % keys.length) ?? "");
  chosen().button.focus();
}

// what the buttons do

/** @type {Record<string, (tab: Tab) => void>} */
const acts = {
  reload: ({ frame }) => {
    frame.src = frame.dataset.src ?? "";
  },
  reset: ({ watch, inspector }) => {
    watch.reset();
    inspector.draw();
  },
  code: ({ panel }) => panel.querySelector("dialog")?.showModal(),
};

/** @param {HTMLButtonElement} button */
async function copy(button) {
  await navigator.clipboard.writeText(button.parentElement?.querySelector("pre")?.textContent ?? "");
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = "Copy";
  }, 1500);
}

/** @param {string} view */
function turnTo(view) {
  document.body.dataset.view = view;
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".views button"))) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
}

// now

for (const { mode, button, panel } of tabs.values()) {
  button.addEventListener("click", () => choose(mode.key));
  const dialog = panel.querySelector("dialog");
  dialog?.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close(); // beside it
  });
}
the(document, "[role=tablist]").addEventListener("keydown", step);
document.addEventListener("click", ({ target }) => {
  const button = /** @type {Element} */ (target).closest("button");
  if (button?.dataset.do) acts[button.dataset.do](chosen());
  else if (button?.dataset.view) turnTo(button.dataset.view);
  else if (button && "copy" in button.dataset) copy(button);
});
addEventListener("message", (event) => {
  for (const { watch, inspector, panel } of tabs.values()) {
    if (watch.take(event) && !panel.hidden) inspector.draw();
  }
});
addEventListener("hashchange", show);
setInterval(() => chosen().inspector.tick(), 1000);
show();
