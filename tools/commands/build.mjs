import { turbo } from "../workspace/turbo.mjs";

/**
 * Builds JavaScript and declarations of everything, from turbo's cache where nothing has changed.
 * @param {readonly string[]} filter as for turbo's `--filter`, such as `@mp/core...`; none means all
 * @returns {number} exit code
 */
export function runBuild(filter) {
  return turbo(["build"], { filter }) ? 0 : 1;
}

/**
 * Any task of turbo.json. `pnpm exec` puts a relative folder on PATH, so in a package's folder turbo would not find
 * pnpm.
 * @param {readonly string[]} args
 * @returns {number} exit code
 */
export function runTurbo(args) {
  return turbo(args) ? 0 : 1;
}
