/** MP_REQUIRE names the tests of flags that must not be left out, such as `webgpu,browser`. */
import { fail } from "./fail.mjs";

const listRequired = () =>
  (process.env["MP_REQUIRE"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** Whether tests of that flag count as failed if the machine cannot run them. @param {string} flag */
export const isRequired = (flag) => listRequired().includes(flag);

/**
 * Ends the process if MP_REQUIRE names a flag that is unknown, or that is not given.
 * @param {Record<string, boolean>} given whether each flag is
 */
export function expectRequired(given) {
  const unknown = listRequired().find((name) => !Object.hasOwn(given, name));
  if (unknown !== undefined)
    fail(`test: MP_REQUIRE names ${unknown}: expected ${Object.keys(given).join(", ")}`, 2);
  const left = listRequired().find((name) => given[name] !== true);
  if (left !== undefined)
    fail(`test: MP_REQUIRE names ${left}, which would be left out: npm test -- --${left} runs it`, 2);
}
