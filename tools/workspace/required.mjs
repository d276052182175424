/** MP_REQUIRE names the parts of `npm test` that must not be left out, such as `webgpu,browser`. */
import { fail } from "./fail.mjs";

/** Each is a flag of `npm test` too. */
const PARTS = ["tensorflow", "python", "arm64", "webgpu", "browser", "mpi", "openvino"];

const named = () =>
  (process.env["MP_REQUIRE"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

/** Whether it is a failure if that part cannot be run here. @param {string} name */
export const isRequired = (name) => named().includes(name);

/**
 * Ends the process if a part is required that is unknown, or that is not asked for.
 * @param {Record<string, boolean>} asked the parts by name, and whether they will be run
 */
export function expectRequired(asked) {
  const unknown = named().find((name) => !PARTS.includes(name));
  if (unknown !== undefined) fail(`test: MP_REQUIRE names ${unknown}: expected ${PARTS.join(", ")}`, 2);
  const left = named().find((name) => asked[name] !== true);
  if (left !== undefined)
    fail(`test: MP_REQUIRE names ${left}, which would be left out: npm test -- --${left} runs it`, 2);
}
