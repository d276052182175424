import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { root } from "../workspace/packages.mjs";

/**
 * The first fenced block between `<!-- name -->` and `<!-- /name -->` of README or docs/install.md.
 * @param {string} name
 * @returns {string}
 */
export function readBlock(name) {
  const texts = ["README.md", "docs/install.md"].map((file) => readFileSync(join(root, file), "utf8"));
  const [, section] = texts.join("").split(new RegExp(`<!-- /?${name} -->`));
  const block = /^```\w+\n([\s\S]*?)^```$/m.exec(section ?? "")?.[1];
  return (
    block ??
    fail(`README.md, docs/install.md: no fenced block between <!-- ${name} --> and <!-- /${name} -->`)
  );
}
