import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { testArm64 } from "../workspace/arm64.mjs";
import { testBrowser } from "../workspace/browser.mjs";
import { fail } from "../workspace/fail.mjs";
import { testMpi } from "../workspace/mpi.mjs";
import { testOpenvino } from "../workspace/openvino.mjs";
import { testPackages } from "../workspace/package-tests.mjs";
import { apps, root } from "../workspace/packages.mjs";
import { testPython } from "../workspace/python.mjs";
import { expectRequired } from "../workspace/required.mjs";
import { smoke } from "../workspace/smoke.mjs";
import { runStages } from "../workspace/stages.mjs";
import { testTensorFlow } from "../workspace/tensorflow.mjs";
import { testWebgpu } from "../workspace/webgpu.mjs";

/** @typedef {import("../workspace/stages.mjs").Count} Count */

/**
 * Tests that a flag of that name adds: tests in what a machine may lack, each downloaded the first time.
 * @type {Readonly<Record<string, { name: string; run: () => Count }>>}
 */
const ADDED = {
  tensorflow: { name: "packages and apps on TensorFlow", run: testTensorFlow },
  python: { name: "our files, read by Python", run: testPython },
  arm64: { name: "ONNX Runtime on arm64, emulated", run: testArm64 },
  // Apart from the others: software Vulkan comes with libraries that other tests should not find.
  webgpu: { name: "packages on WebGPU", run: testWebgpu },
  browser: { name: "packages in a browser", run: testBrowser },
  mpi: { name: "packages on MPI", run: testMpi },
  openvino: { name: "packages on OpenVINO", run: testOpenvino },
};

/** Tests that run without a flag. */
const PLAIN = [
  { name: "packages", run: () => testPackages("test") },
  ...apps().map((app) => ({ name: `apps/${app.folder}, small`, run: () => smoke(app) })),
  {
    name: "the first program",
    run: () =>
      spawnSync(process.execPath, [join(root, "tools/checks/first-program.mjs")], {
        stdio: ["ignore", "inherit", "inherit"],
      }).status === 0,
  },
];

/** @param {readonly string[]} args */
function testOptions(args) {
  const names = [...Object.keys(ADDED), "only"];
  const options = Object.fromEntries(
    names.map((name) => [name, /** @type {const} */ ({ type: "boolean", default: false })]),
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
export async function runTests(args = process.argv.slice(3)) {
  const { only, ...asked } = testOptions(args);
  expectRequired(asked);
  const added = Object.entries(ADDED).filter(([name]) => asked[name] === true);
  if (only === true && added.length === 0)
    fail(
      `test: --only needs a flag: ${Object.keys(ADDED)
        .map((name) => `--${name}`)
        .join(", ")}`,
      2,
    );
  const code = await runStages("test", [...(only === true ? [] : PLAIN), ...added.map(([, stage]) => stage)]);
  for (const [name, stage] of Object.entries(ADDED))
    if (asked[name] !== true && only !== true) console.log(`Not run: ${stage.name} (npm test -- --${name})`);
  return code;
}
