// Starts Python twice from one snapshot, and prints for each start what is already imported and what it draws.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, snapshot] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const memory = new Uint8Array(readFileSync(snapshot));

async function start() {
  const python = await loadPyodide({ indexURL: `${pyodide}/`, _loadSnapshot: memory });
  const frozen = python.runPython("import random; random.random()");
  python.pyimport("random").seed(); // as sdk.js does
  return {
    widget: python.runPython("import sys; 'chatkey_widget.browser.main' in sys.modules"),
    frozen,
    seeded: python.runPython("random.random()"),
    secret: python.runPython("import secrets; secrets.token_hex()"),
  };
}

console.log(JSON.stringify([await start(), await start()]));
