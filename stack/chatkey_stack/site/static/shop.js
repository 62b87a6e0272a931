// The one thing a page with sign-in owes the widget: end the member session when the customer leaves.
const form = document.querySelector("[data-sign-out]");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  await window.Service?.logout();
  form.submit();
});
