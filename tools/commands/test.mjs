import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { testArm64 } from "../workspace/arm64.mjs";
import { fail } from "../workspace/fail.mjs";
import { apps, members, root } from "../workspace/packages.mjs";
import { installPython, sayPythonIsMissing } from "../workspace/python.mjs";
import { runStages } from "../workspace/stages.mjs";
import { installTensorFlow, sayTensorFlowIsMissing, tensorFlowState } from "../workspace/tensorflow.mjs";
import { environment, turbo } from "../workspace/turbo.mjs";

/** @typedef {import("../workspace/packages.mjs").WorkspacePackage} WorkspacePackage */

/**
 * Counts from vitest's JSON report; a package without a report, or whose files did not load, has failed. So has a test
 * that was not run: nothing may be skipped.
 * @param {WorkspacePackage} tested
 */
function countOf(tested) {
  try {
    const report = JSON.parse(readFileSync(join(root, tested.path, ".results", "test.json"), "utf8"));
    const brokenFiles = report.testResults.filter(
      (/** @type {{ status: string; assertionResults: unknown[] }} */ file) =>
        file.status === "failed" && file.assertionResults.length === 0,
    ).length;
    const skipped = report.numPendingTests + report.numTodoTests;
    if (skipped > 0) console.error(`${tested.path}: ${skipped} tests were skipped, which counts as failed`);
    const passed = report.numPassedTests;
    const failed = report.numFailedTests + brokenFiles + skipped;
    return { passed, failed: failed === 0 && !report.success ? 1 : failed };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

function testPackages() {
  const tested = members().filter(({ manifest }) => manifest.scripts?.["test"] !== undefined);
  for (const { path } of tested) rmSync(join(root, path, ".results"), { recursive: true, force: true });
  // Not a file of any package: without this, turbo would reuse results from before TensorFlow was installed.
  const tensorFlow = tensorFlowState();
  Object.assign(environment, { MP_TENSORFLOW_ADDON: tensorFlow });
  const succeeded = turbo(["test"], { keepGoing: true });
  if (tensorFlow === "none") sayTensorFlowIsMissing();
  sayPythonIsMissing();
  const counts = tested.map(countOf);
  const passed = counts.reduce((sum, count) => sum + count.passed, 0);
  const failed = counts.reduce((sum, count) => sum + count.failed, 0);
  return { passed, failed: failed === 0 && !succeeded ? 1 : failed };
}

/**
 * Each app's package.json has a script `smoke` that runs it at a small size.
 * @param {WorkspacePackage} app
 */
function smoke(app) {
  if (!turbo(["build:js"], { filter: [`./${app.path}...`], quiet: true })) return false;
  const { status } = spawnSync("pnpm", ["--silent", "run", "smoke"], {
    cwd: join(root, app.path),
    env: environment,
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  return status === 0;
}

/** @param {readonly string[]} args */
function testOptions(args) {
  try {
    const flag = /** @type {const} */ ({ type: "boolean", default: false });
    return parseArgs({ args: [...args], options: { tensorflow: flag, python: flag, arm64: flag } }).values;
  } catch (error) {
    return fail(`test: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}

/**
 * @param {readonly string[]} args `--tensorflow` installs TensorFlow's library first, which may download 270 MB;
 *   `--python` installs Python's readers of our files likewise; `--arm64` also runs ONNX Runtime's library for arm64, emulated, which downloads the emulator the first time
 * @returns {Promise<number>} exit code
 */
export function runTests(args = process.argv.slice(3)) {
  const { tensorflow, python, arm64 } = testOptions(args);
  return runStages("test", [
    ...(tensorflow ? [{ name: "TensorFlow's library", run: installTensorFlow }] : []),
    ...(python ? [{ name: "Python's readers", run: installPython }] : []),
    { name: "packages", run: testPackages },
    ...(arm64 ? [{ name: "ONNX Runtime on arm64, emulated", run: testArm64 }] : []),
    ...apps().map((app) => ({ name: `apps/${app.folder}, small`, run: () => smoke(app) })),
    {
      name: "README's program",
      run: () =>
        spawnSync(process.execPath, [join(root, "tools/checks/readme-program.mjs")], {
          stdio: ["ignore", "inherit", "inherit"],
        }).status === 0,
    },
  ]);
}
