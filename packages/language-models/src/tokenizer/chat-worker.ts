/** The thread in which Python's Jinja2 renders chats. It says once that it is open, then answers each message. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { loadPyodide } from "pyodide";

declare const WebAssembly: {
  readonly Memory: { readonly prototype: { readonly buffer: ArrayBuffer; grow(pages: number): number } };
};

const { maxBytes } = workerData as { readonly maxBytes: number };
const { grow } = WebAssembly.Memory.prototype;
// Python raises a MemoryError then. The limits of a thread do not cover this memory.
WebAssembly.Memory.prototype.grow = function (pages) {
  if (this.buffer.byteLength + pages * 65_536 > maxBytes) throw new RangeError("no more memory");
  return grow.call(this, pages);
};

const python = await loadPyodide({
  // By default a stack trace tells where its files are, which `--enable-source-maps` changes.
  indexURL: dirname(createRequire(import.meta.url).resolve("pyodide")),
  // By default Python may import what is global here, and so reach the process.
  jsglobals: {},
});
const folder = new URL("../python/", import.meta.url);
for (const library of ["jinja2", "markupsafe"]) {
  python.FS.mkdirTree(`/mp/${library}`);
  for (const file of readdirSync(new URL(library, folder)))
    python.FS.writeFile(`/mp/${library}/${file}`, readFileSync(new URL(`${library}/${file}`, folder)));
}
python.runPython("import sys; sys.path.append('/mp')");
const render = python.runPython(readFileSync(new URL("render.py", folder), "utf8"));

parentPort?.postMessage("open");
parentPort?.on("message", (request: string) => parentPort?.postMessage(render(request)));
