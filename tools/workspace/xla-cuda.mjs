/**
 * XLA's plugin for CUDA with the two packages of NVIDIA's that its compiler calls, for tests and bench: they compile on
 * a machine without a GPU. Their licences, Apache-2.0 and NVIDIA's EULA, are unpacked with them.
 */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { requireLinuxX64 } from "./parts.mjs";
import { unpackWheels } from "./xla-wheels.mjs";

const WHEELS = [
  {
    name: "jax-cuda13-pjrt==0.12.0.1",
    sha256: "5899bb6177eda86ea532afb9a26794f2bdd04966f6a01f9028266b16c2b6cf90",
  },
  {
    name: "nvidia-cuda-nvcc==13.5.37",
    sha256: "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7",
  },
  {
    name: "nvidia-nvvm==13.5.37",
    sha256: "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070",
  },
];
const PLUGIN = "jax_plugins/xla_cuda13/xla_cuda_plugin.so";
/** Programs of NVIDIA's compiler, which Python's zipfile leaves without the right to run. */
const PROGRAMS = ["bin/ptxas", "bin/nvlink", "bin/fatbinary"].map((program) => `nvidia/cu13/${program}`);

/**
 * The plugin's path, downloaded the first time on a machine (257 MB, 700 MB on disk). It finds what it calls beside it.
 * @throws PartsMissing where this machine or its network cannot provide it
 */
export function xlaCudaPlugin() {
  requireLinuxX64("XLA's CUDA plugin");
  const folder = unpackWheels("xla-cuda", WHEELS, (into) => {
    for (const program of PROGRAMS) chmodSync(join(into, program), 0o755);
  });
  return join(folder, PLUGIN);
}

/** The environment variable that tests and bench find the plugin by. */
export const xlaCudaEnvironment = () => ({ MP_XLA_CUDA: xlaCudaPlugin() });
