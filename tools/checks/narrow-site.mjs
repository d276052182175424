/** Checks that every table of the built site reads well on a phone, in a headless Chromium. */
import { join } from "node:path";
import { hasBrowser, importBrowserTool } from "../workspace/browser.mjs";
import { root } from "../workspace/packages.mjs";

if (hasBrowser()) {
  /**
   * @typedef {(file: string) => boolean} IsPage
   * @typedef {{ pages: number; tables: number; problems: readonly string[] }} Reading
   */
  const { readNarrow } = /** @type {{ readNarrow: (folder: string, isPage: IsPage) => Promise<Reading> }} */ (
    await importBrowserTool("narrow-site")
  );
  const { pages, tables, problems } = await readNarrow(
    join(root, "site", "dist"),
    (file) => !/^(api|docs\/decisions)\//.test(file),
  );
  for (const problem of problems) console.error(problem);
  console.log(`${tables} tables on ${pages} pages, ${problems.length} problems`);
  process.exitCode = problems.length > 0 || tables === 0 ? 1 : 0;
} else console.log("Tables were not looked at on a telephone: there is no Chromium for this system");
