// Bundles the page into `dist/page`: one flat folder of files that any server can serve, and that the page keeps for use
// without a network.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const sources = join(import.meta.dirname, "src", "page");
const folder = join(import.meta.dirname, "dist", "page");
const WASM = "ort-wasm-simd-threaded.asyncify.wasm";

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await bundle({ page: "main.ts", worker: "worker.ts" });
for (const file of ["index.html", "style.css"]) await copyFile(join(sources, file), join(folder, file));
const engine = dirname(fileURLToPath(import.meta.resolve("onnxruntime-web/webgpu")));
await copyFile(join(engine, WASM), join(folder, WASM));

const files = (await readdir(folder)).sort();
const hash = createHash("sha256");
for (const file of files) hash.update(await readFile(join(folder, file)));
await bundle(
  { offline: "offline.ts" },
  { files: ["./", ...files], version: hash.digest("hex").slice(0, 16) },
);
console.log(`${files.length + 1} files in ${folder}`);

/**
 * @param {Readonly<Record<string, string>>} programs by the name of their file
 * @param {object} [kept] the value of KEPT in the program `offline`: the files that it keeps
 */
async function bundle(programs, kept) {
  await build({
    entryPoints: Object.fromEntries(
      Object.entries(programs).map(([name, file]) => [name, join(sources, file)]),
    ),
    outdir: folder,
    bundle: true,
    minify: true,
    // Rarely needed parts, such as the reference backend, become separate files.
    splitting: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    ...(kept === undefined ? {} : { define: { KEPT: JSON.stringify(kept) } }),
    // onnxruntime-web asks for these in Node alone.
    external: ["fs", "path", "node:*", "module", "worker_threads"],
    legalComments: "linked",
    logLevel: "error",
  });
}
