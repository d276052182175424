import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const tsc = join(createRequire(import.meta.url).resolve("typescript7/package.json"), "../bin/tsc");
const OPTIONS =
  "--ignoreConfig --declaration --emitDeclarationOnly --noCheck --module nodenext --target es2023 --lib es2023,esnext.disposable --types node --rootDir src --outDir dist/types";

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

/** The only build recipe: every package passes its entry map, so that replacing the bundler changes only this file. */
export const preset = (/** @type {Record<string, string>} */ entry) => ({
  entry,
  format: /** @type {const} */ (["esm"]),
  target: "node20",
  sourcemap: true,
  clean: true,
  // Imports that package.json resolves where the program runs: another file in Node than in a browser.
  external: [/^#/],
  onSuccess: async () => declare(entry),
});

/** Builds an app: one program without declarations, because it is run and not imported. */
export const appPreset = (/** @type {Record<string, string>} */ entry = { main: "src/main.ts" }) => ({
  ...preset(entry),
  onSuccess: undefined,
});
