import { apps } from "./packages.mjs";
import { turbo } from "./turbo.mjs";

/**
 * Runs apps at a small size, two at a time; turbo names those that fail.
 * @param {string} [script] of their package.json; another one is for an engine that a machine may lack
 */
export function smokeApps(script = "smoke") {
  const succeeded = turbo([script], { keepGoing: true });
  const passed = apps().filter(({ manifest }) => manifest.scripts?.[script] !== undefined).length;
  return { passed: succeeded ? passed : 0, failed: Number(!succeeded) };
}
