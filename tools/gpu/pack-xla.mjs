// Packs XLA's plugin for NVIDIA's GPUs, with the assembler that it calls; the machine provides CUDA and cuDNN.
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "../workspace/packages.mjs";
import { run, writeArchive } from "./archive.mjs";

/**
 * @param {string} folder of the pack
 * @returns {Promise<readonly string[]>} the archive's pieces
 */
export async function packXla(folder) {
  run(process.execPath, [join(root, "packages/libxla/dist/mp-libxla.js"), "install", "cuda13-compiler"]);
  const { locateInstalled } = await import(join(root, "packages/libxla/dist/index.js"));
  // The plugin lies two folders below.
  const from = resolve(locateInstalled("cuda13-compiler", process.env), "../../..");
  const files = readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1));
  return writeArchive(join(folder, "xla.tar.gz"), from, files, ["--transform=s,^,xla/,"]);
}
