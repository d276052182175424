import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { testArm64 } from "../workspace/arm64.mjs";
import { testBrowser } from "../workspace/browser.mjs";
import { fail } from "../workspace/fail.mjs";
import { testPackages } from "../workspace/package-tests.mjs";
import { apps, root } from "../workspace/packages.mjs";
import { installPython, sayPythonIsMissing } from "../workspace/python.mjs";
import { expectRequired } from "../workspace/required.mjs";
import { runStages } from "../workspace/stages.mjs";
import { installTensorFlow, sayTensorFlowIsMissing, tensorFlowState } from "../workspace/tensorflow.mjs";
import { environment, turbo } from "../workspace/turbo.mjs";
import { testWebgpu } from "../workspace/webgpu.mjs";

/** @typedef {import("../workspace/packages.mjs").WorkspacePackage} WorkspacePackage */

/** @param {{ webgpu: boolean; browser: boolean }} later which tests have a stage of their own */
function testOnEngines(later) {
  // Not a file of any package: without this, turbo would reuse results from before TensorFlow was installed.
  const tensorFlow = tensorFlowState();
  const counts = testPackages("test", { MP_TENSORFLOW_ADDON: tensorFlow });
  if (tensorFlow === "none") sayTensorFlowIsMissing();
  sayPythonIsMissing();
  for (const [name, isRun] of Object.entries(later))
    if (!isRun) console.log(`Tests in test/${name} were left out; npm test -- --${name} runs them`);
  return counts;
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
    const options = { tensorflow: flag, python: flag, arm64: flag, webgpu: flag, browser: flag };
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    return fail(`test: ${error instanceof Error ? error.message : String(error)}`, 2);
  }
}

/**
 * @param {readonly string[]} args `--tensorflow` installs TensorFlow's library first, which may download 270 MB;
 *   `--python` installs Python's readers of our files likewise; `--arm64` also runs ONNX Runtime's library for arm64, emulated,
 *   which downloads the emulator the first time; `--webgpu` also runs what needs a device of WebGPU, on software Vulkan
 *   that is downloaded the first time; `--browser` also runs what needs a browser
 * @returns {Promise<number>} exit code
 */
export function runTests(args = process.argv.slice(3)) {
  const { tensorflow, python, arm64, webgpu, browser } = testOptions(args);
  expectRequired({ python, arm64, webgpu, browser });
  return runStages("test", [
    ...(tensorflow ? [{ name: "TensorFlow's library", run: installTensorFlow }] : []),
    ...(python ? [{ name: "Python's readers", run: installPython }] : []),
    { name: "packages", run: () => testOnEngines({ webgpu, browser }) },
    ...(arm64 ? [{ name: "ONNX Runtime on arm64, emulated", run: testArm64 }] : []),
    // In a stage of their own: software Vulkan comes with libraries that other tests should not find.
    ...(webgpu ? [{ name: "packages on WebGPU", run: testWebgpu }] : []),
    ...(browser ? [{ name: "packages in a browser", run: testBrowser }] : []),
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
