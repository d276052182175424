import { join } from "node:path";
import { root } from "./packages.mjs";
import { isLinuxX64, PartsMissing } from "./parts.mjs";
import { runNode, turbo } from "./turbo.mjs";

/** Exit code of our installers when no package index answers. */
const EXIT_UNREACHABLE = 3;

/**
 * Builds a package and runs its command, which installs a library where that is not done yet.
 * @param {string} folder of the package
 * @param {string} command its file there
 * @param {readonly string[]} [args]
 * @param {import("node:child_process").StdioOptions} [stdio]
 * @returns {boolean} whether the library is there now
 * @throws PartsMissing where it is not for this machine or no package index answers
 */
export function installLibrary(folder, command, args = [], stdio = ["ignore", "inherit", "inherit"]) {
  if (!turbo(["build"], { filter: [`./packages/${folder}`], quiet: true })) return false;
  const file = join(root, "packages", folder, command);
  const status = runNode([file, ...args], { stdio });
  if (status === EXIT_UNREACHABLE || (status !== 0 && !isLinuxX64))
    throw new PartsMissing(`@mp/${folder} installed no library, see above`);
  return status === 0;
}
