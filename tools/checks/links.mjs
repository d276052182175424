/** Every relative link in a committed Markdown file must lead to a file, and the README links to every page of docs. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../workspace/packages.mjs";

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));
let links = 0;
let broken = 0;
for (const file of files) {
  for (const [, target = ""] of readFileSync(join(root, file), "utf8").matchAll(/\]\(([^)\s]+)\)/g)) {
    const path = target.replace(/#.*$/, "");
    if (path === "" || /^[a-z]+:/.test(path)) continue;
    links++;
    if (existsSync(join(root, dirname(file), path))) continue;
    broken++;
    console.error(`${file}: the link to ${target} leads nowhere`);
  }
}
const readme = readFileSync(join(root, "README.md"), "utf8");
for (const page of files.filter((file) => /^docs\/[^/]+\.md$/.test(file))) {
  if (readme.includes(`](${page})`) || readme.includes(`](${page}#`)) continue;
  broken++;
  console.error(`README.md: does not link to ${page}`);
}
console.log(`${files.length} files, ${links} relative links`);
process.exitCode = broken > 0 ? 1 : 0;
