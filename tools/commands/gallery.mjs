import { importBrowserTool } from "../workspace/browser.mjs";
import { fail } from "../workspace/fail.mjs";
import { root } from "../workspace/packages.mjs";
import { turbo } from "../workspace/turbo.mjs";

/** @param {readonly string[]} names of apps; all apps if empty */
export async function run(names) {
  if (!turbo(["build"], { filter: ["./apps/*"], quiet: true }))
    fail("gallery: an app did not build, see above");
  const { makeGallery } =
    /** @type {{ makeGallery: (root: string, names: readonly string[]) => Promise<void> }} */ (
      await importBrowserTool("gallery")
    );
  await makeGallery(root, names);
}
