// What Piccolo Admin cannot be told in its configuration: the colours of the system, a home page
// with the tasks, names for screen readers, and choices in forms.

/** @type {[string, string, string][]} */
const TASKS = [
  ["Providers", "#/providers/", "The businesses: names, greetings, colours. Switch one on or off."],
  ["New Provider", "#/forms/new-provider/", "Makes the provider id and the secret_key."],
  ["Domains", "#/domains/", "The pages that may show the widget of a provider."],
  ["Social Logins", "#/social_logins/", "Offer Google, GitHub and others, with the service's keys or the provider's own."],
  ["Service Keys", "#/service_keys/", "The applications of this service at the social providers."],
  ["Members", "#/members/", "Who has signed in, and when."],
  ["Rotate Secret", "#/forms/rotate-secret/", "A new secret_key; the old one stays valid for a while."],
  ["Erase Person", "#/forms/erase-person/", "Deletes a member and all conversations."],
];

/** @type {Record<string, string>} */
const NAMES = {
  "thead input": "Select all rows",
  "tbody input": "Select this row",
  "#page_size select": "Rows per page",
  "#burger_menu a": "Menu",
};

const CONTROLS = ":is(input, select, textarea):not([aria-label], [type=hidden])";

localStorage.setItem("darkMode", String(matchMedia("(prefers-color-scheme: dark)").matches));

function showTasks() {
  const home = document.querySelector(".welcome");
  if (!home || home.querySelector("nav")) return;
  const tasks = document.createElement("nav");
  tasks.ariaLabel = "Tasks";
  tasks.append(...TASKS.map(task));
  home.append(tasks);
}

/** @param {[string, string, string]} task */
function task([title, href, text]) {
  const link = document.createElement("a");
  link.href = href;
  const name = document.createElement("strong");
  name.textContent = title;
  link.append(name, text);
  return link;
}

/** Give a name to what has none for a screen reader: Piccolo Admin's labels stand beside their controls. */
function nameControls() {
  for (const [place, name] of Object.entries(NAMES))
    for (const control of document.querySelectorAll(place)) control.ariaLabel ??= name;
  for (const control of document.querySelectorAll(CONTROLS)) {
    const before = document.evaluate("preceding::label[1]", control, null, XPathResult.STRING_TYPE).stringValue;
    control.ariaLabel = before.trim() || control.getAttribute("name") || "Value";
  }
  for (const link of document.querySelectorAll("a:not([aria-label])"))
    if (!link.textContent?.trim())
      link.ariaLabel = link.getAttribute("title") ?? link.querySelector("svg")?.dataset.icon?.replaceAll("-", " ") ?? "Link";
}

/** Offer what is known in the fields of a form, which Piccolo Admin cannot make selects. */
function offerChoices() {
  offer("login", async () => [["custom"], ["social"], ["visitor"]]);
  offer("provider", async () => {
    const answer = await fetch("./api/tables/providers/?__page_size=100");
    /** @type {{ rows: { id: string, name: string }[] }} */
    const { rows } = answer.ok ? await answer.json() : { rows: [] };
    return rows.map(({ id, name }) => [id, name]);
  });
}

/** @param {string} name @param {() => Promise<string[][]>} choices */
async function offer(name, choices) {
  const field = document.querySelector(`form input[name=${name}]:not([list])`);
  if (!field) return;
  const list = document.createElement("datalist");
  list.id = `known-${name}`;
  field.setAttribute("list", list.id);
  field.after(list);
  list.append(...(await choices()).map(([value, label]) => new Option(label || value, value)));
}

new MutationObserver(() => {
  showTasks();
  nameControls();
  offerChoices();
}).observe(document, { childList: true, subtree: true });
