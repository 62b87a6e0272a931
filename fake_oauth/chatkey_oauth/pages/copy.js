document.addEventListener("click", async ({ target }) => {
  const button = target instanceof Element ? target.closest("button") : null;
  if (button?.dataset.copy === undefined) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
});
