import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./packages.mjs";
import { isLinuxX64 } from "./parts.mjs";

/** Whether there is a Chromium: the npm package's, or the one that MP_CHROMIUM names. */
export const hasBrowser = () => process.env["MP_CHROMIUM"] !== undefined || isLinuxX64;

/**
 * Imports a program of `tools/browser`, which is TypeScript.
 * @param {string} name
 * @returns {Promise<unknown>}
 */
export async function importBrowserTool(name) {
  // Imported here, since npm test needs only the rest of this file.
  const { build } = await import("esbuild");
  const outfile = join(root, "tools", "browser", `.${name}.mjs`);
  await build({
    entryPoints: [join(root, "tools", "browser", `${name}.ts`)],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
  });
  return import(pathToFileURL(outfile).href).finally(() => rmSync(outfile));
}
