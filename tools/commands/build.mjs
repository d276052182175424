import { turbo } from "../workspace/turbo.mjs";

/**
 * Builds JavaScript and declarations, from turbo's cache where nothing has changed.
 * @param {readonly string[]} filter as for turbo's `--filter`, such as `@mp/core...`; none means all
 */
export const run = (filter) => (turbo(["build"], { filter }) ? 0 : 1);
