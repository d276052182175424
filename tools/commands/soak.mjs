import { join } from "node:path";
import { parseArgs } from "node:util";
import { fail } from "../workspace/fail.mjs";
import { root } from "../workspace/packages.mjs";
import { runStages } from "../workspace/stages.mjs";
import { environment, runNode, turbo } from "../workspace/turbo.mjs";

/** @typedef {{ fraction: number; seed: number; only: readonly string[] }} SoakOptions */

/** Tests that take their size from the environment: package and file, by the name of the soak. */
const files = {
  "safetensors-fuzz": ["safetensors", "test/fuzz.test.ts"],
  "kill-while-saving": ["safetensors", "test/kill-while-saving.test.ts"],
  "kill-and-resume": ["core", "test/kill-and-resume.test.ts"],
  "resume-combinations": ["core", "test/trainer/resume.test.ts"],
  "steady-memory": ["core", "test/steady-memory.test.ts"],
  "failing-trainings": ["nn", "test/failing-trainings.test.ts"],
  export: ["backend-ort", "test/random-exports.test.ts"],
  "broken-tokenizer": ["language-models", "test/broken-tokenizer.test.ts"],
  "wrong-backends": ["conformance", "test/wrong-backends"],
};

/** Soaks that run conformance cases on each engine: cases that the suite leaves out, or all (only if named). */
const CASES = { cases: "left-out", suite: "all" };
const soaks = [...Object.keys(files), ...Object.keys(CASES)];

/**
 * @param {readonly string[]} args `--fraction 0.02`, `--seed 7`, names of soaks
 * @returns {SoakOptions}
 */
function soakOptions(args) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { fraction: { type: "string", default: "1" }, seed: { type: "string" } },
      allowPositionals: true,
    });
    const fraction = Number(values.fraction);
    if (!(fraction > 0 && fraction <= 1))
      throw new Error(`--fraction must be above 0 and at most 1, got ${values.fraction}`);
    const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new Error(`--seed must be an integer ≥ 0, got ${values.seed}`);
    const unknown = positionals.find((name) => !soaks.includes(name));
    if (unknown !== undefined) throw new Error(`no soak is called "${unknown}"; soaks: ${soaks.join(", ")}`);
    return { fraction, seed, only: positionals };
  } catch (error) {
    return fail(`soak: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}

/** The reference, and the engines whose package builds and whose native library opens here. */
function engines() {
  const found = ["ort", "tfjs", "openvino", "xla", "ort on webgpu"].filter((name) => {
    const [engine = "", device = "cpu"] = name.split(" on ");
    if (!turbo(["build"], { filter: [`@mp/backend-${engine}`], quiet: true })) return false;
    const opens = runNode(["tools/gpu/probe.mjs", engine, device], { stdio: "ignore" }) === 0;
    if (!opens) console.log(`soak: ${name} does not open here, and is left out`);
    return opens;
  });
  return ["reference", ...found];
}

/** @param {readonly string[]} args @param {() => void} install @returns {Promise<number>} exit code */
export function run(args, install) {
  const { fraction, seed, only } = soakOptions(args);
  install();
  if (!turbo(["build"], { filter: ["@mp/core"], quiet: true }))
    fail("soak: @mp/core did not build, see above");
  const isAsked = (/** @type {string} */ name) =>
    only.length === 0 ? name !== "suite" : only.includes(name);
  const all = engines();
  const backends = all.filter((name) => name !== "ort on webgpu");
  console.log(
    `soak: ${fraction === 1 ? "full size" : `${fraction} of full size`}, seed ${seed}, on ${all.join(", ")}`,
  );
  const cases = Object.entries(CASES)
    .filter(([name]) => isAsked(name))
    .flatMap(([name, which]) =>
      all.map((engine) => ({
        name: `${name}, ${engine}`,
        run: () =>
          runNode(["tools/soak/cases.mjs", engine, which, String(fraction), String(seed)], {
            env: environment,
          }) === 0,
      })),
    );
  if (cases.length > 0 && !turbo(["build"], { filter: ["@mp/conformance"], quiet: true }))
    fail("soak: @mp/conformance did not build, see above");
  const env = {
    ...environment,
    MP_SOAK_FRACTION: String(fraction),
    MP_SOAK_SEED: String(seed),
    MP_SOAK_BACKENDS: backends.join(","),
  };
  const vitest = ["--testTimeout=7200000", "--reporter=verbose", "--disableConsoleIntercept"];
  const tests = Object.entries(files)
    .filter(([name]) => isAsked(name))
    .map(([name, [folder = "", file = ""]]) => {
      const cwd = join(root, "packages", folder);
      const args = ["node_modules/vitest/vitest.mjs", "run", file, ...vitest];
      return { name, run: () => runNode(args, { cwd, env }) === 0 };
    });
  return runStages("soak", [...tests, ...cases]);
}
