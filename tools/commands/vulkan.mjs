import { runWith } from "../workspace/run-with.mjs";
import { softwareVulkan, vulkanEnvironment } from "../workspace/vulkan.mjs";

/**
 * Runs a command in which ONNX Runtime's WebGPU provider, Dawn and other programs find software Vulkan as their only
 * device.
 * @param {readonly string[]} args the command and its arguments
 * @returns {number} its exit code
 */
export const run = (args) =>
  runWith("vulkan", args, "apt-get, dpkg-deb and Debian's package index", () =>
    vulkanEnvironment(softwareVulkan()),
  );
