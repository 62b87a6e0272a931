// Making elements. Text goes into the page as text only.

/**
 * Make an element: its attributes, then its children, which are nodes or texts.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | number | null | undefined>} [attributes]
 * @param {(Node | string | null | undefined)[]} children
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(key, String(value));
  }
  made.append(...children.filter((child) => child !== null).filter((child) => child !== undefined));
  return made;
}

/**
 * Make an SVG element.
 * @param {"svg" | "rect"} name
 * @param {Record<string, string | number>} [attributes]
 * @param {Node[]} children
 */
export function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}
