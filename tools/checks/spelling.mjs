/** Checks American spelling in all files that git knows, by cspell and our own words in spelling.txt. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../workspace/packages.mjs";
import { repositoryFiles } from "../workspace/repository-files.mjs";

const files = repositoryFiles("*.md", "*.ts", "*.mjs");
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
