/**
 * Checks that a change of a package's source comes with a changeset. On a branch it looks at the changes since the
 * branch left main; on main, since the newest changeset, with a merged branch as one change.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries, root } from "../workspace/packages.mjs";
import { tool } from "../workspace/turbo.mjs";

/** @param {readonly string[]} args @returns {string} empty where git fails */
const git = (...args) => spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout.trim();

const { fixed } = JSON.parse(readFileSync(join(root, ".changeset/config.json"), "utf8"));
for (const { name } of publicLibraries())
  if (!fixed[0].includes(name))
    fail(`changeset: ${name} is not in "fixed" of .changeset/config.json; all packages have one version`);

const branchPoint = git("merge-base", "HEAD", "origin/main") || git("merge-base", "HEAD", "main");
const newest = git("log", "-1", "--first-parent", "--format=%H", "--", ".changeset/*.md");
const since = branchPoint === git("rev-parse", "HEAD") ? newest : branchPoint;
if (since === "") fail("changeset: needs a checkout with its history (git fetch --unshallow)");
if (!tool("changeset", ["status", `--since=${since}`])) {
  console.error(`changeset: run npx changeset, or amend .changeset/<what-changed>.md; see CONTRIBUTING.md`);
  process.exitCode = 1;
}
