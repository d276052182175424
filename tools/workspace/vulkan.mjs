/**
 * A Vulkan device that every linux/x64 machine has: Mesa's lavapipe, which runs shaders on the processor, with
 * shaderFloat16. Debian 12's own Mesa is too old for Dawn, its backport is not. apt-get downloads it into a cache; it is
 * unpacked, not installed.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { unpackDebian } from "./debian.mjs";
import { fetchOnce, requireLinuxX64 } from "./parts.mjs";
import { VULKAN_PACKAGES } from "./vulkan-packages.mjs";

const FROM = { suites: "bookworm bookworm-backports", architectures: ["amd64"] };
const DRIVER = "libvulkan_lvp.so";
/** Mesa's other drivers and its layers. */
const isUnused = (/** @type {string} */ file) => /^lib(vulkan_|VkLayer_)/.test(file) && file !== DRIVER;

/** @param {string} into an empty folder: gets `lib` and `driver.json` */
function fetchVulkan(into) {
  const [work, root, lib] = [join(into, "work"), join(into, "root"), join(into, "lib")];
  for (const folder of [work, root, lib]) mkdirSync(folder);
  unpackDebian(VULKAN_PACKAGES, FROM, { work, into: () => root });
  for (const folder of ["lib", "usr/lib"].map((name) => join(root, name, "x86_64-linux-gnu"))) {
    for (const file of readdirSync(folder))
      if (/\.so(\.|$)/.test(file) && !isUnused(file)) renameSync(join(folder, file), join(lib, file));
  }
  // The path is relative to this file.
  const driver = {
    file_format_version: "1.0.0",
    ICD: { library_path: `lib/${DRIVER}`, api_version: "1.4.305" },
  };
  writeFileSync(join(into, "driver.json"), JSON.stringify(driver));
  for (const folder of [work, root]) rmSync(folder, { recursive: true });
}

/**
 * The folder of software Vulkan, downloaded the first time on a machine (54 MB of packages and Debian's lists, 193 MB on disk).
 * @throws PartsMissing where this machine or its network cannot provide it
 */
export function softwareVulkan() {
  requireLinuxX64("the software Vulkan fetched");
  return fetchOnce("vulkan", [VULKAN_PACKAGES, FROM, DRIVER], fetchVulkan);
}

/**
 * Environment variables with which a process finds the Vulkan of that folder, and no other device, from its start.
 * @param {string} folder
 * @returns {Record<string, string>}
 */
export function vulkanEnvironment(folder) {
  const before = process.env["LD_LIBRARY_PATH"];
  const driver = join(folder, "driver.json");
  return {
    LD_LIBRARY_PATH: [join(folder, "lib"), ...(before ? [before] : [])].join(delimiter),
    VK_DRIVER_FILES: driver,
    // Loaders before 1.3.207 know this name alone.
    VK_ICD_FILENAMES: driver,
    // Compiling a shader takes a second; other processes reuse it from here.
    MESA_SHADER_CACHE_DIR: join(folder, "shaders"),
    // Half the width of a modern processor's vectors: shaders compile twice as fast, and run no slower.
    LP_NATIVE_VECTOR_WIDTH: "128",
  };
}
