import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./packages.mjs";

/**
 * The files of the repository, including those that are not yet added to git, without those that git ignores.
 * @param {readonly string[]} patterns such as `*.md`, in any folder; without one, all files
 * @returns {readonly string[]} paths from the root
 */
export const repositoryFiles = (...patterns) =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  })
    .split("\n")
    .filter((file) => file !== "" && existsSync(join(root, file)));
