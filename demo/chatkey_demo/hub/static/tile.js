// A picture of a key's fingerprint: two pictures that look alike are the same key, and so the same browser.

import { drawn } from "./dom.js";

const SIZE = 5;

/**
 * Draw a `jkt`, base64url of a SHA-256, as a mirrored 5×5 pattern in a colour of its own.
 * @param {string} jkt
 */
export function tile(jkt) {
  const bytes = bytesOf(jkt);
  const colour = `hsl(${Math.round((bytes[0] * 360) / 256)} 62% 52%)`;
  const cells = [];
  for (let row = 0; row < SIZE; row += 1) {
    for (let column = 0; column < SIZE; column += 1) {
      const mirrored = Math.min(column, SIZE - 1 - column);
      if (bytes[1 + row * 3 + mirrored] % 2) cells.push(cell(row, column));
    }
  }
  return drawn("svg", { viewBox: "-1 -1 7 7", class: "tile", fill: colour, role: "img", "aria-label": "Picture of the key's fingerprint" }, ...cells);
}

/** @param {number} row @param {number} column */
function cell(row, column) {
  return drawn("rect", { x: column, y: row, width: 1.02, height: 1.02 });
}

/** @param {string} base64url */
function bytesOf(base64url) {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
