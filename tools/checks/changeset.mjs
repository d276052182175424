/**
 * A change of packages/<name>/src must come with a changeset that names the package.
 *
 * On a branch, or with a base given as argument, everything since the base is one change, and a changeset anywhere in
 * it is enough. On main itself there is no base to compare with; there the rule is that no source is newer than the
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
/** @param {readonly string[]} args */
function tryGit(...args) {
  try {
    return git(...args);
  } catch {
    return undefined;
  }
}

/** The base of the change under review; undefined on main, where there is none. */
function baseOfChange() {
  const given = process.argv[2];
  if (given !== undefined)
    return tryGit("rev-parse", "--verify", `${given}^{commit}`) ?? fail(`changeset: no commit "${given}"`, 2);
  const main = ["origin/main", "main"].find((name) => tryGit("rev-parse", "--verify", name) !== undefined);
  const base = main === undefined ? undefined : tryGit("merge-base", main, "HEAD");
  return base === git("rev-parse", "HEAD") ? undefined : base;
}

if (tryGit("rev-parse", "--is-shallow-repository") !== "false") {
  fail("changeset: needs a git checkout with its whole history (git fetch --unshallow)");
}
const changesets = pendingChangesets();
const { fixed } = JSON.parse(readFileSync(join(root, ".changeset/config.json"), "utf8"));
for (const { name } of publicLibraries())
  if (!fixed[0]?.includes(name))
    fail(`changeset: ${name} is not in "fixed" of .changeset/config.json; all packages have one version`);
const base = baseOfChange();
let problems = 0;

for (const { name, path } of publicLibraries()) {
  const covering = changesets.filter(({ releases }) => releases.has(name)).map((changeset) => changeset.path);
  const changelog = `${path}/CHANGELOG.md`;
  if (existsSync(join(root, changelog))) covering.push(changelog);
  const newestCover =
    covering.length > 0 ? git("log", "-1", "--first-parent", "--format=%H", "--", ...covering) : "";

  const sources = [`${path}/src`, `:(exclude)${path}/**/*.test.ts`, `:(exclude)${path}/**/*.test-d.ts`];
  const start = base ?? newestCover;
  const commits = git(
    "log",
    "--first-parent",
    "--format=%h %s",
    start === "" ? "HEAD" : `${start}..HEAD`,
    "--",
    ...sources,
  )
    .split("\n")
    .filter(Boolean);
  const coveredInRange =
    base !== undefined &&
    covering.length > 0 &&
    git("log", "--format=%h", `${base}..HEAD`, "--", ...covering) !== "";
  if (commits.length === 0 || coveredInRange) continue;

  problems++;
  const when = covering.length > 0 ? "after its newest changeset" : "and no changeset names it";
  console.error(`${name}: ${path}/src changed ${when}, commits: ${commits.length}, last: ${commits[0]}`);
}
if (problems > 0) {
  console.error(
    'Add or amend .changeset/<what-changed>.md ("npx changeset", or by hand): what changes for a user, then what to do.',
  );
}
console.log(
  `${changesets.length} pending changesets, compared ${base === undefined ? "by the newest changeset of each package" : `since ${base.slice(0, 9)}`}`,
);
process.exitCode = problems > 0 ? 1 : 0;
