import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { testPackages } from "./package-tests.mjs";
import { root } from "./packages.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";

/** Whether there is a Chromium: that of the npm package, or one that MP_CHROMIUM names. */
export const hasBrowser = () =>
  process.env["MP_CHROMIUM"] !== undefined || (process.platform === "linux" && process.arch === "x64");

/**
 * Imports a program of `tools/browser`, which is TypeScript.
 * @param {string} name
 * @returns {Promise<unknown>}
 */
export async function importBrowserTool(name) {
  // Not at the top: npm test needs the rest of this file alone.
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

/**
 * Packages' tests in a browser.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where there is none, which counts as
 *   failed where MP_REQUIRE names browser
 */
export function testBrowser() {
  if (hasBrowser()) return testPackages("test:browser");
  return countMissing(
    "browser",
    "Nothing was tested in a browser",
    new PartsMissing(
      `npm's package of Chromium is for linux/x64, this is ${process.platform}/${process.arch}`,
    ),
    "a Chromium whose path is in MP_CHROMIUM",
  );
}
