// The one thing a page with sign-in owes the widget: end the member session when the customer leaves.
const form = /** @type {HTMLFormElement | null} */ (document.querySelector("[data-sign-out]"));
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (window.Service && "logout" in window.Service) await window.Service.logout();
  form.submit();
});
