/** American spelling, by cspell and the words of our own in spelling.txt, in everything that git knows. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";

const files = execFileSync("git", ["ls-files", "*.md", "*.ts", "*.mjs"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/cspell/bin.mjs"), "lint", "--no-progress", "--unique", "--file-list", "stdin"],
  { cwd: root, input: files.join("\n"), stdio: ["pipe", "inherit", "inherit"] },
);
if (status !== 0)
  console.error(
    'spelling: correct the word, or add it to spelling.txt if it is right ("npm run check -- spelling")',
  );
process.exitCode = status === 0 ? 0 : 1;
