import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { root } from "../workspace/packages.mjs";

/**
 * The first fenced block between `<!-- name -->` and `<!-- /name -->` of the root README.
 * @param {string} name
 * @returns {string}
 */
export function readmeBlock(name) {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const [, section] = readme.split(new RegExp(`<!-- /?${name} -->`));
  const block = /^```\w+\n([\s\S]*?)^```$/m.exec(section ?? "")?.[1];
  return block ?? fail(`README.md: no fenced block between <!-- ${name} --> and <!-- /${name} -->`);
}
