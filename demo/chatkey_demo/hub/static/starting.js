// The page while the servers start: asks whether they are up, and then shows the demo.

const PAUSE = 250; // milliseconds

async function look() {
  try {
    const answer = await fetch("/ready");
    if (answer.status === 200) return location.reload();
  } catch {
    const status = /** @type {HTMLElement} */ (document.getElementById("status"));
    status.textContent = "The demo stopped before it was ready. The terminal shows why.";
    return;
  }
  setTimeout(look, PAUSE);
}

look();
