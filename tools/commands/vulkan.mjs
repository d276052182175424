import { spawnSync } from "node:child_process";
import { constants } from "node:os";
import { fail } from "../workspace/fail.mjs";
import { PartsMissing } from "../workspace/parts.mjs";
import { environment } from "../workspace/turbo.mjs";
import { softwareVulkan, vulkanEnvironment } from "../workspace/vulkan.mjs";

/** @returns {string} */
function folderOrFail() {
  try {
    return softwareVulkan();
  } catch (error) {
    if (!(error instanceof PartsMissing)) throw error;
    return fail(`vulkan: ${error.message}; it takes apt-get, dpkg-deb and Debian's package index`, 1);
  }
}

/**
 * Runs a command in which ONNX Runtime's WebGPU provider, Dawn and other programs find software Vulkan as their only
 * device.
 * @param {readonly string[]} args the command and its arguments
 * @returns {number} its exit code
 */
export function run([command, ...args]) {
  if (command === undefined) return fail("vulkan: no command, such as: node program.mjs", 2);
  const { status, signal, error } = spawnSync(command, args, {
    env: { ...environment, ...vulkanEnvironment(folderOrFail()) },
    stdio: "inherit",
  });
  if (error) return fail(`vulkan: ${command} did not start: ${error.message}`, 1);
  return status ?? 128 + constants.signals[signal ?? "SIGTERM"];
}
