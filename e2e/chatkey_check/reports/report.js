"use strict";

// Copying needs a script; without one there is no button.
for (const place of document.querySelectorAll(".copied")) {
  const text = /** @type {HTMLElement} */ (place.querySelector("pre"));
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy: ${text.getAttribute("aria-label")}`);
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  place.append(button);
}

/** @param {HTMLElement} element */
async function copied(element) {
  try {
    await navigator.clipboard.writeText(element.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(element); // where the clipboard is out of reach, a person can do it
    return false;
  }
}

// A link to a check opens it, and the group it is in.
function openLinked() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const inside = /** @type {HTMLDetailsElement | null} */ (target?.querySelector(":scope > details"));
  if (!target || !inside) return;
  for (const details of [inside, target.closest("details")]) if (details) details.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", openLinked);
openLinked();

// On paper nothing can be unfolded.
let folded = /** @type {HTMLDetailsElement[]} */ ([]);
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll(".group:not([open]), .call:not([open])")].map(
    (element) => /** @type {HTMLDetailsElement} */ (element),
  );
  for (const details of folded) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of folded) details.open = false;
});
