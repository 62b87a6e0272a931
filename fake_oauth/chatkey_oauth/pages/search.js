const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const accounts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".account")]);
search.hidden = false;
search.addEventListener("input", () => {
  const words = search.value.toLowerCase();
  for (const account of accounts) account.hidden = !account.textContent?.toLowerCase().includes(words);
  const shown = accounts.filter((account) => !account.hidden);
  if (shown.length && !shown.some((account) => account.querySelector(":checked"))) shown[0].click();
});
