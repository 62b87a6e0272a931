// What Piccolo Admin cannot be told in its configuration: the colours of the system, and a home page with the tasks.

/** @type {[string, string, string][]} */
const TASKS = [
  ["Businesses", "#/providers/", "Names, greetings, colours. Switch a business on or off."],
  ["New business", "#/forms/new-provider/", "Makes the provider id and the secret_key."],
  ["Domains", "#/domains/", "The pages that may show the widget of a business."],
  ["Social logins", "#/social_logins/", "Offer Google, GitHub and others, with the service's keys or the business's own."],
  ["Service keys", "#/service_keys/", "The applications of this service at the social providers."],
  ["Members", "#/members/", "Who has signed in, and when."],
  ["Rotate a secret", "#/forms/rotate-secret/", "A new secret_key; the old one stays valid for a while."],
  ["Erase a person", "#/forms/erase-person/", "Deletes a member and all conversations."],
];

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

new MutationObserver(showTasks).observe(document, { childList: true, subtree: true });
