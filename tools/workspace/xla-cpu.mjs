/**
 * XLA's CPU plugin, for tests. Nobody publishes one officially: this one is a by-product of another project (Apache-2.0,
 * its THIRD_PARTY_NOTICES beside it), pinned by its sum. Users are not offered it.
 */
import { join } from "node:path";
import { requireLinuxX64 } from "./parts.mjs";
import { unpackWheels } from "./xla-wheels.mjs";

const WHEEL = {
  name: "lammps-jax-pjrt-cpu==0.11.2",
  sha256: "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
};
const PLUGIN = "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so";

/**
 * The plugin's path, downloaded the first time on a machine (63 MB, 193 MB on disk).
 * @throws PartsMissing where this machine or its network cannot provide it
 */
export function xlaCpuPlugin() {
  requireLinuxX64("XLA's CPU plugin");
  return join(unpackWheels("xla-cpu", [WHEEL]), PLUGIN);
}

/** The environment in which `xla()` opens the plugin. */
export const xlaEnvironment = () => ({ MP_XLA_PLUGIN: xlaCpuPlugin() });
