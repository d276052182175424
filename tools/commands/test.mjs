import { parseArgs } from "node:util";
import { ADDED, runAdded } from "../workspace/added-tests.mjs";
import { fail } from "../workspace/fail.mjs";
import { testPackages } from "../workspace/package-tests.mjs";
import { expectRequired } from "../workspace/required.mjs";
import { smokeApps } from "../workspace/smoke.mjs";
import { runStages } from "../workspace/stages.mjs";
import { runCheck } from "../workspace/turbo.mjs";

/** Tests that run without a flag. */
const PLAIN = [
  { name: "packages", run: () => testPackages("test") },
  { name: "apps, small", run: () => smokeApps() },
  { name: "the first program", run: () => runCheck("first-program") },
];

const FLAGS = Object.keys(ADDED)
  .map((flag) => `--${flag}`)
  .join(", ");

/** @param {readonly string[]} args */
function testOptions(args) {
  const options = Object.fromEntries(
    [...Object.keys(ADDED), "only", "help"].map((flag) => [
      flag,
      /** @type {const} */ ({ type: "boolean", default: false }),
    ]),
  );
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    return fail(`test: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}

/**
 * @param {readonly string[]} args flags of `ADDED`; with `--only`, nothing but what they add
 * @returns {Promise<number>} exit code
 */
export async function run(args) {
  const { only, help, ...given } = testOptions(args);
  if (help === true) {
    console.log("npm test -- [--only] [flags]; --only runs nothing but what the other flags add");
    for (const [flag, { name, needs }] of Object.entries(ADDED))
      console.log(`  --${flag.padEnd(12)}${name}; needs ${needs}`);
    return 0;
  }
  expectRequired(given);
  const added = Object.entries(ADDED).filter(([flag]) => given[flag] === true);
  if (only === true && added.length === 0) fail(`test: --only needs a flag: ${FLAGS}`, 2);
  const code = await runStages("test", [
    ...(only === true ? [] : PLAIN),
    ...added.map(([flag, tests]) => ({ name: tests.name, run: () => runAdded(tests, flag) })),
  ]);
  for (const [flag, { name }] of Object.entries(ADDED))
    if (given[flag] !== true && only !== true) console.log(`Not run: ${name} (npm test -- --${flag})`);
  return code;
}
