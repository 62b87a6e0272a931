// Starts Python twice from one snapshot, and prints for each start what is already imported and what it draws.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, snapshot] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const { default: createModule } = await import(pathToFileURL(`${pyodide}/pyodide.asm.mjs`));
const file = readFileSync(snapshot);

/** Put the parts where they belong, and the head where Pyodide looks for it, as sdk.js does. */
function restore({ HEAPU8 }, head) {
  const words = new Uint32Array(Uint8Array.from(file).buffer);
  let read = 4 * (3 + 2 * words[0]);
  let end = words[2]; // the heap
  file.copy(head, 0, read, (read += words[1]));
  new Uint32Array(head.buffer)[1] = head.length;
  for (let part = 1; part <= words[0]; part += 1) {
    const [address, length] = words.subarray(1 + 2 * part);
    if (address > end) HEAPU8.fill(0, end, address);
    HEAPU8.set(file.subarray(read, (read += length)), address);
    end = Math.max(end, address + length);
  }
}

async function start() {
  const head = new Uint8Array(1024);
  const createPyodideModule = async (settings) => {
    const module = await createModule(settings);
    restore(module, head);
    return module;
  };
  const python = await loadPyodide({ indexURL: `${pyodide}/`, _loadSnapshot: head, createPyodideModule });
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
