import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./packages.mjs";
import { turbo } from "./turbo.mjs";

const path = "packages/backend-tfjs";
const tfjsNode = join(root, path, "node_modules", "@tensorflow", "tfjs-node");
const addon = join(tfjsNode, "lib", "napi-v8", "tfjs_binding.node");
/** Exit code of mp-libtensorflow when no package index answers. */
const EXIT_UNREACHABLE = 3;

/** Which addon of tfjs-node is installed, if any: test results depend on it. */
export function tensorFlowState() {
  return existsSync(addon) ? createHash("sha256").update(readFileSync(addon)).digest("hex") : "none";
}

/** Prints one line when the tests that need TensorFlow were left out. */
export function sayTensorFlowIsMissing() {
  console.log(
    `${path}: TensorFlow's library is not installed, what runs on it was not tested; (cd ${path} && npx mp-libtensorflow) installs it, npm test -- --tensorflow does so first`,
  );
}

/**
 * Installs TensorFlow's library under this checkout's tfjs-node. The first time on a machine downloads 270 MB.
 * @returns {boolean | { passed: number; failed: number }} nothing passed and nothing failed without a package index
 */
export function installTensorFlow() {
  if (!turbo(["build:js"], { filter: ["@mp/libtensorflow"], quiet: true })) return false;
  const { status } = spawnSync(
    process.execPath,
    [join(root, "packages/libtensorflow/dist/mp-libtensorflow.js"), "--package", tfjsNode],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
  );
  return status === EXIT_UNREACHABLE ? { passed: 0, failed: 0 } : status === 0;
}
