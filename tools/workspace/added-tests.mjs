/** Tests that flags of `npm test` add. The first time, they fetch engines and programs that the machine lacks. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testArm64 } from "./arm64.mjs";
import { hasBrowser } from "./browser.mjs";
import { installLibrary } from "./install-library.mjs";
import { testPackages } from "./package-tests.mjs";
import { root } from "./packages.mjs";
import { fetchOnce, PartsMissing, run } from "./parts.mjs";
import { isRequired } from "./required.mjs";
import { smokeApps } from "./smoke.mjs";
import { buildPackages, runNode, turbo } from "./turbo.mjs";
import { softwareVulkan, vulkanEnvironment } from "./vulkan.mjs";
import { xlaEnvironment } from "./xla-cpu.mjs";

/** @typedef {import("./stages.mjs").Count} Count */

/** @type {Count} */
const FAILURE = { passed: 0, failed: 1 };

/**
 * @typedef {object} AddedTests
 * @property {string} name
 * @property {string} needs what the tests need of a machine
 * @property {() => Count} run throws PartsMissing where the machine lacks that
 */

/** Added tests by flag. @satisfies {Readonly<Record<string, AddedTests>>} */
export const ADDED = {
  tensorflow: {
    name: "packages and apps on TensorFlow",
    needs: "g++ and Python's package index",
    run: testTensorFlow,
  },
  python: {
    name: "our files, read by Python",
    needs: "python3 with venv and a package index",
    run: () => testPackages("test:python", { MP_PYTHON: process.env["MP_PYTHON"] ?? installPython() }),
  },
  arm64: {
    name: "ONNX Runtime on arm64, emulated",
    needs: "apt-get, dpkg-deb and npm with their indexes",
    run: testArm64,
  },
  // Runs apart from the others, because software Vulkan comes with libraries that other tests should not find.
  webgpu: {
    name: "packages on WebGPU",
    needs: "apt-get, dpkg-deb and Debian's package index, or a GPU and MP_WEBGPU=system",
    run: () =>
      testPackages(
        "test:webgpu",
        process.env["MP_WEBGPU"] === "system" ? {} : vulkanEnvironment(softwareVulkan()),
      ),
  },
  browser: {
    name: "packages in a browser",
    needs: "a Chromium whose path is in MP_CHROMIUM",
    run: () => {
      if (!hasBrowser()) throw new PartsMissing("npm's package of Chromium is for linux/x64");
      // A page's programs are compiled against the declarations that a reader gets.
      return buildPackages() ? testPackages("test:browser") : FAILURE;
    },
  },
  mpi: {
    name: "packages on MPI",
    needs: "Linux on x64, pip and a package index",
    run: () => (installLibrary("mpi", "bin/mp-mpi.js", ["install"]) ? testPackages("test:mpi") : FAILURE),
  },
  openvino: {
    name: "packages on OpenVINO",
    needs: "Linux on x64, pip and a package index",
    run: () =>
      installLibrary("libopenvino", "bin/mp-libopenvino.js") && printHalves()
        ? testPackages("test:openvino")
        : FAILURE,
  },
  xla: {
    name: "packages on XLA's CPU plugin, and compiled by its CUDA plugin",
    needs: "Linux on x64, python3 with pip and a package index",
    run: () =>
      installLibrary("libxla", "bin/mp-libxla.js", ["install", "cuda13-compiler"])
        ? testPackages("test:xla", xlaEnvironment())
        : FAILURE,
  },
};

/**
 * Runs the tests of a flag.
 * @param {AddedTests} tests
 * @param {string} flag
 * @returns {Count} if the machine lacks what they need: no test, or one that failed if MP_REQUIRE names the flag
 */
export function runAdded({ name, needs, run }, flag) {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof PartsMissing)) throw error;
    const note = isRequired(flag) ? `, and MP_REQUIRE names ${flag}` : "";
    console.log(`Not tested: ${name}: ${error.message}; it takes ${needs}${note}`);
    return { passed: 0, failed: Number(isRequired(flag)) };
  }
}

/** Installs TensorFlow's library under this checkout's tfjs-node (270 MB), and also runs the apps that have a script for it. */
function testTensorFlow() {
  const tfjsNode = join(root, "packages/backend-tfjs/node_modules/@tensorflow/tfjs-node");
  if (!installLibrary("libtensorflow", "dist/mp-libtensorflow.js", ["--package", tfjsNode])) return FAILURE;
  const addon = readFileSync(join(tfjsNode, "lib/napi-v8/tfjs_binding.node"));
  // The addon is not a file of any package, so without this turbo would reuse results of another TensorFlow.
  const sum = createHash("sha256").update(addon).digest("hex");
  const counts = testPackages("test:tensorflow", { MP_TENSORFLOW_ADDON: sum });
  const small = smokeApps("smoke:tensorflow");
  return { passed: counts.passed + small.passed, failed: counts.failed + small.failed };
}

/** Python packages that the tests read our files with. */
const PYTHON_PACKAGES = ["numpy==2.4.6", "onnx==1.23.2", "safetensors==0.8.0", "tensorboard==2.21.0"];

/** @returns {string} the interpreter of a virtual environment with those packages (213 MB) */
function installPython() {
  const isWindows = process.platform === "win32";
  const interpreter = isWindows ? "Scripts/python.exe" : "bin/python";
  const folder = fetchOnce("python", PYTHON_PACKAGES, (into) => {
    run(isWindows ? "python" : "python3", ["-m", "venv", into], { cwd: into });
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(join(into, interpreter), [...pip, ...PYTHON_PACKAGES], { cwd: into });
  });
  return join(folder, interpreter);
}

/** Opens the engine and prints whether bf16 and f16 are native on this processor, or emulated. */
const HALVES = `
const backend = await (await import("./dist/index.js")).openvino();
const { engine, dtypes } = backend.manifest;
const halves = ["bf16", "f16"].map((half) => \`\${half} is \${dtypes[half].compute}\`).join(", ");
console.log(\`On OpenVINO \${engine.version}, \${halves}\`);
await backend.dispose();
`;

/** @returns {boolean} whether the engine opened */
function printHalves() {
  if (!turbo(["build"], { filter: ["@mp/backend-openvino"], quiet: true })) return false;
  const cwd = join(root, "packages/backend-openvino");
  return runNode(["--input-type=module", "--eval", HALVES], { cwd }) === 0;
}
