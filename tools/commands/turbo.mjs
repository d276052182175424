import { turbo } from "../workspace/turbo.mjs";

/**
 * Runs a task of turbo.json. (`pnpm exec` puts a relative folder on PATH, so in a package's folder turbo would not find
 * pnpm.)
 * @param {readonly string[]} args
 */
export const run = (args) => (turbo(args) ? 0 : 1);
