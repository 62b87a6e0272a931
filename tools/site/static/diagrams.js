// Draws the page's diagrams in the colours of the page, and again if a person changes the colours.
const { mermaid } = /** @type {any} */ (globalThis);
const drawn = [...document.querySelectorAll("pre.mermaid")].map((element) => ({ element, text: element.textContent }));

async function draw() {
  const dark = document.documentElement.dataset.theme === "dark";
  const themeVariables = dark ? { edgeLabelBackground: "#14181e" } : {};
  mermaid.initialize({ startOnLoad: false, theme: dark ? "dark" : "neutral", themeVariables });
  for (const { element, text } of drawn) {
    element.textContent = text;
    element.removeAttribute("data-processed");
  }
  await mermaid.run({ nodes: drawn.map(({ element }) => element) });
  document.documentElement.dataset.drawn = "yes";
}

let drawing = draw();
const again = () => (drawing = drawing.then(draw)); // Mermaid does one thing at a time
new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
