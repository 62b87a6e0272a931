// Draws the page's diagrams. In the dark, the theme of the site inverts their colours.
const { mermaid } = /** @type {any} */ (globalThis);

mermaid.initialize({ startOnLoad: false, theme: "neutral" });
mermaid.run({ querySelector: "pre.mermaid" }).then(() => (document.documentElement.dataset.drawn = "yes"));
