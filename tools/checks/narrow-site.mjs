/** Whether every table of the built site reads well on a telephone, in a headless Chromium. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { hasBrowser } from "../workspace/browser.mjs";
import { root } from "../workspace/packages.mjs";

if (hasBrowser()) {
  const outfile = join(root, "tools", "browser", ".narrow-site.mjs");
  await build({
    entryPoints: [join(root, "tools", "browser", "narrow-site.ts")],
    outfile,
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
  });
  /**
   * @typedef {(file: string) => boolean} IsPage
   * @typedef {{ pages: number; tables: number; problems: readonly string[] }} Reading
   * @type {{ readNarrow: (folder: string, isPage: IsPage) => Promise<Reading> }}
   */
  const { readNarrow } = await import(pathToFileURL(outfile).href).finally(() => rmSync(outfile));
  const { pages, tables, problems } = await readNarrow(
    join(root, "site", "dist"),
    (file) => !/^(api|docs\/decisions)\//.test(file),
  );
  for (const problem of problems) console.error(problem);
  console.log(`${tables} tables on ${pages} pages, ${problems.length} problems`);
  process.exitCode = problems.length > 0 || tables === 0 ? 1 : 0;
} else console.log("Tables were not looked at on a telephone: there is no Chromium for this system");
