const told = document.getElementById("told");
const search = document.getElementById("search");

async function ask(method, path, body) {
  const sent = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { method, ...sent });
  if (answer.ok) return location.reload();
  told.textContent = (await answer.json()).error.message;
}

document.addEventListener("click", async ({ target }) => {
  const { copy, method, path, body, fault } = target.closest("button")?.dataset ?? {};
  if (copy !== undefined) {
    await navigator.clipboard.writeText(copy);
    told.textContent = "Copied.";
  } else if (fault !== undefined) {
    const provider = document.getElementById("scope").value;
    await ask("POST", "/lab/faults", { fault, scope: provider ? { provider } : {} });
  } else if (path !== undefined) {
    await ask(method, path, body === undefined ? undefined : JSON.parse(body));
  }
});

document.getElementById("approve").addEventListener("change", ({ target }) =>
  ask("PUT", "/lab/auto-approve", { account: target.value || null }));

document.getElementById("person").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value));
  ask("PUT", `/lab/people/${encodeURIComponent(given.id)}`, given);
});

function filter() {
  const words = search.value.toLowerCase();
  const isFound = (part) => part.querySelector(".rows > li:not([hidden])") !== null;
  for (const row of document.querySelectorAll(".rows > li")) row.hidden = !row.textContent.toLowerCase().includes(words);
  for (const family of document.querySelectorAll(".family")) family.hidden = !isFound(family);
  for (const part of document.querySelectorAll("details, section:has(.rows)")) {
    part.hidden = words !== "" && !isFound(part);
    if (part.localName === "details") part.open = words ? isFound(part) : kept.has(part.id);
  }
}

const kept = new Set(JSON.parse(sessionStorage.getItem("open") ?? "[]"));
search.value = sessionStorage.getItem("search") ?? "";
search.addEventListener("input", () => { sessionStorage.setItem("search", search.value); filter(); });
for (const part of document.querySelectorAll("details")) {
  part.querySelector("summary").addEventListener("click", () => {
    if (part.open) kept.delete(part.id); else kept.add(part.id);
    sessionStorage.setItem("open", JSON.stringify([...kept]));
  });
}
filter();
