// Writes Pyodide's memory with the widget already imported: node snapshot.mjs <pyodide folder> <widget.zip> <output>

import crypto from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ENTRY = "chatkey_widget.browser.main";

const [folder, sources, output] = process.argv.splice(1).slice(1);

// The same sources must give the same bytes: nothing of this moment, or of this machine, may get into the memory.
Date.now = () => Date.UTC(2026, 0, 1);
performance.now = () => 0;
crypto.randomFillSync = (view) => view.fill(0);
process.env.TZ = "UTC";
const env = { PYTHONHASHSEED: "0", LANG: "C.UTF-8" };

const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")));
const pyodide = await loadPyodide({ indexURL: folder, env, _makeSnapshot: true });
pyodide.unpackArchive(new Uint8Array(readFileSync(sources)), "zip");
pyodide.pyimport(ENTRY).destroy();
pyodide.runPython("import gc; gc.collect()");
clearFreeMemory(pyodide._module);
writeFileSync(output, pyodide.makeMemorySnapshot());

/** Overwrite what freed objects left behind, which is a fifth of what would be sent: take all free blocks, and return them. */
function clearFreeMemory({ HEAPU8, _malloc, _free }) {
  const end = HEAPU8.findLastIndex((byte) => byte !== 0);
  const taken = [];
  // A block that does not fit would make the memory grow, and the snapshot with it.
  const most = 2 ** Math.floor(Math.log2((HEAPU8.length - end) / 2));
  for (let size = most; size >= 16; size /= 2) {
    let address = _malloc(size) >>> 0;
    while (address + size <= end) {
      taken.push(address);
      HEAPU8.fill(0, address, address + size);
      address = _malloc(size) >>> 0;
    }
    _free(address);
  }
  taken.forEach(_free);
}
