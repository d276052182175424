import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";

const tsc = join(createRequire(import.meta.url).resolve("typescript7/package.json"), "../bin/tsc");
const OPTIONS =
  "--ignoreConfig --declaration --emitDeclarationOnly --noCheck --module nodenext --target es2023 --lib es2023,esnext.disposable --types node --rootDir src --outDir dist/types";

/**
 * Builds a package: `dist/<name>.js` and its declarations for each entry.
 * @param {Record<string, string>} entry files by name
 */
export async function buildPackage(entry) {
  await buildApp(entry);
  declare(entry);
}

/**
 * Builds an app: programs without declarations, because they are run and not imported.
 * @param {Record<string, string>} entry files by name
 */
export async function buildApp(entry) {
  rmSync("dist", { recursive: true, force: true });
  const { dependencies, peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  await build({
    entryPoints: entry,
    outdir: "dist",
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: true,
    logLevel: "warning",
    // package.json resolves `#` where the program runs: another file in Node than in a browser.
    external: ["#*", ...Object.keys({ ...dependencies, ...peerDependencies })],
  });
}

/**
 * Writes the declarations of all files that the entries reach to `dist/types`, and one for each entry, which passes on
 * its own. Sources name the types of what they export (`isolatedDeclarations`), so nothing has to be checked for it.
 * @param {Record<string, string>} entry
 */
function declare(entry) {
  execFileSync(process.execPath, [tsc, ...OPTIONS.split(" "), ...Object.values(entry)], { stdio: "inherit" });
  for (const [name, path] of Object.entries(entry)) {
    const own = path.replace(/^src(.*)ts$/, "./types$1js");
    // The library declares Symbol.asyncDispose, of Backend, for programs whose `target` is older.
    writeFileSync(
      `dist/${name}.d.ts`,
      `/// <reference lib="esnext.disposable" />\nexport * from "${own}";\n`,
    );
  }
}
