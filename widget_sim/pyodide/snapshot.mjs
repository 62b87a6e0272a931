// Writes Pyodide's memory with the widget already imported: node snapshot.mjs <pyodide folder> <widget.zip> <output>

import crypto from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ENTRY = "chatkey_widget.browser.main";
const BLOCK = 4096;

const [folder, sources, output] = process.argv.splice(1).slice(1);

// The same sources must give the same bytes: nothing of this moment, or of this machine, may get into the memory.
Date.now = () => Date.UTC(2026, 0, 1);
performance.now = () => 0;
crypto.randomFillSync = (view) => view.fill(0);
process.env.TZ = "UTC";
const env = { PYTHONHASHSEED: "0", LANG: "C.UTF-8" };

const pristine = memoryOfFreshModule();
const { loadPyodide } = await import(pathToFileURL(join(folder, "pyodide.mjs")));
const pyodide = await loadPyodide({ indexURL: folder, env, _makeSnapshot: true });
pyodide.unpackArchive(new Uint8Array(readFileSync(sources)), "zip");
pyodide.pyimport(ENTRY).destroy();
pyodide.runPython("import gc; gc.collect()");
clearFreeMemory(pyodide._module);
writeFileSync(output, packed(pyodide.makeMemorySnapshot(), await pristine, pyodide._module.___heap_base));

/** What every browser has by itself: the memory as WebAssembly's module brings it, before anything ran. */
function memoryOfFreshModule() {
  const { instantiate } = WebAssembly;
  return new Promise((resolve) => {
    WebAssembly.instantiate = async (...given) => {
      const made = await instantiate(...given);
      const memory = made.instance?.exports.memory;
      if (memory) resolve(new Uint8Array(memory.buffer).slice());
      return made;
    };
  });
}

/**
 * The snapshot without what it has in common with a fresh module: only blocks that differ, in the heap from zeros. The
 * order: how many parts, bytes of Pyodide's head, address of the heap; address and length of each part; head; parts.
 */
function packed(snapshot, pristine, heapBase) {
  const head = new Uint32Array(snapshot.buffer, 0, 2)[1];
  const memory = snapshot.subarray(head);
  const heap = heapBase - (heapBase % BLOCK);
  const fresh = new Uint8Array(memory.length);
  fresh.set(pristine.subarray(0, heap));
  const parts = changed(memory, fresh);
  const index = Uint32Array.of(parts.length, head, heap, ...parts.flat());
  const contents = parts.map(([address, length]) => memory.subarray(address, address + length));
  return Buffer.concat([new Uint8Array(index.buffer), snapshot.subarray(0, head), ...contents]);
}

/** Address and length of each run of blocks that differ. */
function changed(memory, pristine) {
  const runs = [];
  for (let address = 0; address < memory.length; address += BLOCK) {
    const [now, before] = [memory, pristine].map((each) => each.subarray(address, address + BLOCK));
    if (Buffer.compare(now, before) === 0) continue;
    const last = runs.at(-1);
    if (last && last[0] + last[1] === address) last[1] += BLOCK;
    else runs.push([address, BLOCK]);
  }
  return runs;
}

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
