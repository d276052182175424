import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testPackages } from "./package-tests.mjs";
import { apps, root } from "./packages.mjs";
import { countMissing, PartsMissing } from "./parts.mjs";
import { smoke } from "./smoke.mjs";
import { turbo } from "./turbo.mjs";

const path = "packages/backend-tfjs";
const tfjsNode = join(root, path, "node_modules", "@tensorflow", "tfjs-node");
const addon = join(tfjsNode, "lib", "napi-v8", "tfjs_binding.node");
/** Exit code of mp-libtensorflow when no package index answers. */
const EXIT_UNREACHABLE = 3;

/**
 * Installs TensorFlow's library under this checkout's tfjs-node, then runs the packages' tests on it, and the apps that
 * have a script `smoke:tensorflow`. The first time on a machine downloads 270 MB.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed without a package index, which counts as
 *   failed where MP_REQUIRE names tensorflow
 */
export function testTensorFlow() {
  if (!turbo(["build:js"], { filter: ["@mp/libtensorflow"], quiet: true })) return { passed: 0, failed: 1 };
  const { status } = spawnSync(
    process.execPath,
    [join(root, "packages/libtensorflow/dist/mp-libtensorflow.js"), "--package", tfjsNode],
    { cwd: root, stdio: ["ignore", "inherit", "inherit"] },
  );
  if (status === EXIT_UNREACHABLE)
    return countMissing(
      "tensorflow",
      "Nothing was tested on TensorFlow",
      new PartsMissing("its library was not installed, see above"),
      "g++ and Python's package index",
    );
  if (status !== 0) return { passed: 0, failed: 1 };
  // The addon is not a file of any package: without this, turbo would reuse results of another TensorFlow.
  const counts = testPackages("test:tensorflow", { MP_TENSORFLOW_ADDON: sumOf(addon) });
  const runs = apps()
    .filter(({ manifest }) => manifest.scripts?.["smoke:tensorflow"] !== undefined)
    .map((app) => smoke(app, "smoke:tensorflow"));
  return {
    passed: counts.passed + runs.filter(Boolean).length,
    failed: counts.failed + runs.filter((succeeded) => !succeeded).length,
  };
}

/** @param {string} path */
const sumOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
