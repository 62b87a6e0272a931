const told = /** @type {HTMLElement} */ (document.getElementById("told"));
const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const scope = /** @type {HTMLSelectElement} */ (document.getElementById("scope"));
const approve = /** @type {HTMLSelectElement} */ (document.getElementById("approve"));
const person = /** @type {HTMLFormElement} */ (document.getElementById("person"));

/** @type {(method: string, path: string, body?: unknown) => Promise<void>} */
async function ask(method, path, body) {
  const sent = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { method, ...sent });
  if (answer.ok) return location.reload();
  told.textContent = (await answer.json()).error.message;
}

document.addEventListener("click", async ({ target }) => {
  const button = target instanceof Element ? target.closest("button") : null;
  const { method = "POST", path, body, fault } = button?.dataset ?? {};
  if (fault !== undefined) {
    await ask("POST", "/lab/faults", { fault, scope: scope.value ? { provider: scope.value } : {} });
  } else if (path !== undefined) {
    await ask(method, path, body === undefined ? undefined : JSON.parse(body));
  }
});

approve.addEventListener("change", () => ask("PUT", "/lab/auto-approve", { account: approve.value || null }));

person.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries([...new FormData(person)].filter(([, value]) => value));
  ask("PUT", `/lab/people/${encodeURIComponent(String(given.id))}`, given);
});

/** @type {(selector: string) => NodeListOf<HTMLElement>} */
const all = (selector) => document.querySelectorAll(selector);

function filter() {
  const words = search.value.toLowerCase();
  const isFound = (/** @type {HTMLElement} */ part) => part.querySelector(".rows > li:not([hidden])") !== null;
  for (const row of all(".rows > li")) row.hidden = !row.textContent?.toLowerCase().includes(words);
  for (const family of all(".family")) family.hidden = !isFound(family);
  for (const part of all("details, section:has(.rows)")) {
    part.hidden = words !== "" && !isFound(part);
    if (part instanceof HTMLDetailsElement) part.open = words ? isFound(part) : kept.has(part.id);
  }
}

const kept = new Set(JSON.parse(sessionStorage.getItem("open") ?? "[]"));
search.value = sessionStorage.getItem("search") ?? "";
search.addEventListener("input", () => { sessionStorage.setItem("search", search.value); filter(); });
for (const part of document.querySelectorAll("details")) {
  part.querySelector("summary")?.addEventListener("click", () => {
    if (part.open) kept.delete(part.id); else kept.add(part.id);
    sessionStorage.setItem("open", JSON.stringify([...kept]));
  });
}
filter();

/** Replace the lists that change during a login with those of a fresh page. */
async function refresh() {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of all("[data-live]")) {
    const next = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    if (next) part.replaceWith(document.adoptNode(next));
  }
  filter();
}

/** Wait for requests for as long as the page is shown. After an error, a reload of the page starts again. */
async function follow() {
  for (;;) {
    const last = document.querySelector("[data-last]")?.getAttribute("data-last") ?? "0";
    const answer = await fetch(`/lab/requests?after=${last}&wait=25`, { headers: { accept: "application/json" } });
    if (!answer.ok) return;
    if ((await answer.json()).data.requests.length) await refresh();
  }
}

follow().catch(() => { told.textContent = "The fake has stopped. Reload this page when it runs again."; });
