import { testPackages } from "./package-tests.mjs";
import { countMissing } from "./parts.mjs";
import { softwareVulkan, vulkanEnvironment } from "./vulkan.mjs";

/**
 * Packages' tests on a device of WebGPU, outside a browser: on software Vulkan, or on the machine's own GPU where
 * MP_WEBGPU is `system`.
 * @returns {{ passed: number; failed: number }} nothing passed and nothing failed where there is no device, which counts
 *   as failed where MP_REQUIRE names webgpu
 */
export function testWebgpu() {
  if (process.env["MP_WEBGPU"] === "system") return testPackages("test:webgpu");
  /** @type {string} */
  let folder;
  try {
    folder = softwareVulkan();
  } catch (error) {
    return countMissing(
      "webgpu",
      "WebGPU was not tested",
      error,
      "apt-get, dpkg-deb and Debian's package index, or a GPU and MP_WEBGPU=system",
    );
  }
  return testPackages("test:webgpu", vulkanEnvironment(folder));
}
