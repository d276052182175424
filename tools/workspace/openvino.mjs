import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { testPackages } from "./package-tests.mjs";
import { root } from "./packages.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";
import { turbo } from "./turbo.mjs";

/** Exit code of mp-libopenvino when no package index answers. */
const EXIT_UNREACHABLE = 3;

/** Opens the engine and prints whether halves are native on this processor, or emulated. */
const HALVES = `
const backend = await (await import("./dist/index.js")).openvino();
const { engine, dtypes } = backend.manifest;
const said = ["bf16", "f16"].map((half) => \`\${half} is \${dtypes[half].compute}\`).join(", ");
console.log(\`On OpenVINO \${engine.version}, \${said}\`);
await backend.dispose();
`;

/** @returns {boolean} whether the engine opened */
function saysHalves() {
  if (!turbo(["build:js"], { filter: ["@mp/backend-openvino"], quiet: true })) return false;
  const { status } = spawnSync(process.execPath, ["--input-type=module", "--eval", HALVES], {
    cwd: join(root, "packages/backend-openvino"),
    stdio: ["ignore", "inherit", "inherit"],
  });
  return status === 0;
}

/**
 * Installs the library into the user's cache, where that is not done yet.
 * @param {import("node:child_process").StdioOptions} stdio of the command that fetches it
 * @returns {number | null} the command's exit code; null where it did not build
 */
export function installOpenvino(stdio) {
  if (!turbo(["build:js"], { filter: ["@mp/libopenvino"], quiet: true })) return null;
  const command = join(root, "packages/libopenvino/bin/mp-libopenvino.js");
  return spawnSync(process.execPath, [command], { cwd: root, stdio }).status;
}

/**
 * Packages' tests on OpenVINO, whose library is installed into the user's cache the first time.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where it cannot be fetched, which counts
 *   as failed where MP_REQUIRE names openvino
 */
export function testOpenvino() {
  const status = installOpenvino(["ignore", "inherit", "inherit"]);
  const isForThis = process.platform === "linux" && process.arch === "x64";
  if (status === 0) return saysHalves() ? testPackages("test:openvino") : { passed: 0, failed: 1 };
  if (status === null || (isForThis && status !== EXIT_UNREACHABLE)) return { passed: 0, failed: 1 };
  return countMissing(
    "openvino",
    "Nothing was tested on OpenVINO",
    new PartsMissing("its library was not installed, see above"),
    "Linux on x64, pip and a package index",
  );
}
