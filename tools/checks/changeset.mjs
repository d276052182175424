/**
 * A change of packages/<name>/src must come with a changeset that names the package: no source may be newer than the
 * package's newest changeset (or changelog, right after a release); a merged branch is one change. Tests do not count.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "../workspace/fail.mjs";
import { publicLibraries, root } from "../workspace/packages.mjs";
import { pendingChangesets } from "./pending-changesets.mjs";

/** @param {readonly string[]} args */
function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}
if (git("rev-parse", "--is-shallow-repository") !== "false") {
  fail("changeset: needs a git checkout with its whole history (git fetch --unshallow)");
}
const changesets = pendingChangesets();
const { fixed } = JSON.parse(readFileSync(join(root, ".changeset/config.json"), "utf8"));
for (const { name } of publicLibraries())
  if (!fixed[0]?.includes(name))
    fail(`changeset: ${name} is not in "fixed" of .changeset/config.json; all packages have one version`);
let problems = 0;

for (const { name, path } of publicLibraries()) {
  const covering = changesets.filter(({ releases }) => releases.has(name)).map((changeset) => changeset.path);
  const changelog = `${path}/CHANGELOG.md`;
  if (existsSync(join(root, changelog))) covering.push(changelog);
  const newestCover =
    covering.length > 0 ? git("log", "-1", "--first-parent", "--format=%H", "--", ...covering) : "";

  const sources = [`${path}/src`, `:(exclude)${path}/**/*.test.ts`, `:(exclude)${path}/**/*.test-d.ts`];
  const commits = git(
    "log",
    "--first-parent",
    "--format=%h %s",
    newestCover === "" ? "HEAD" : `${newestCover}..HEAD`,
    "--",
    ...sources,
  )
    .split("\n")
    .filter(Boolean);
  if (commits.length === 0) continue;

  problems++;
  const when = covering.length > 0 ? "after its newest changeset" : "and no changeset names it";
  console.error(`${name}: ${path}/src changed ${when}, commits: ${commits.length}, last: ${commits[0]}`);
}
if (problems > 0) {
  console.error(
    'Add or amend .changeset/<what-changed>.md ("npx changeset", or by hand): what changes for a user, then what to do.',
  );
}
console.log(`${changesets.length} pending changesets, compared by the newest of each package`);
process.exitCode = problems > 0 ? 1 : 0;
