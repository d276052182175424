import type { BackendManifest } from "@mp/graph";
import type { Client, Flags } from "./pjrt/index.js";

/** The devices that the contract names, by a platform's name. */
const DEVICES: Readonly<Record<string, BackendManifest["device"]>> = { cpu: "cpu", cuda: "cuda" };

export const deviceOf = ({ platform }: Pick<Client, "platform">): BackendManifest["device"] =>
  DEVICES[platform.toLowerCase()] ?? "other";

/**
 * XLA's flags for results that are rounded where the graph says, and the same in every run. The processor's and the
 * card's are known to the plugins of both, which share one list.
 */
export const EXACT_FLAGS: Flags = {
  // Otherwise casts to a half and back may be left out.
  xla_allow_excess_precision: false,
  // Otherwise the greater of 1 and NaN is 1.
  xla_cpu_enable_fast_min_max: false,
  // Otherwise scatters add in the order in which threads come.
  xla_gpu_exclude_nondeterministic_ops: true,
};

/** The flags for each device. */
export const DEVICE_FLAGS: Readonly<Record<BackendManifest["device"], Flags>> = {
  cpu: {
    ...EXACT_FLAGS,
    // A processor is for tests, which compile thousands of programs and run each a few times.
    xla_backend_optimization_level: 0,
    xla_cpu_parallel_codegen_split_count: 1,
  },
  cuda: {
    ...EXACT_FLAGS,
    // Otherwise the flag above takes Triton's products away too, though each adds in a fixed order.
    xla_gpu_experimental_deterministic_ops_triton: "DETERMINISTIC_OPS_TRITON_MODE_UNCHECKED",
    // The gradients that devices add at once: enough to use their links, and few enough to begin before the last.
    xla_gpu_all_reduce_combine_threshold_bytes: 25 * 2 ** 20,
  },
  webgpu: EXACT_FLAGS,
  other: EXACT_FLAGS,
};

/**
 * Compiles with the flags. XLA's own products have no tiles for some small shapes, such as 16 by 64 by 3, and its flag
 * for the same results in every run lets no library step in. Such a program is compiled without them: libraries or plain
 * kernels compute its products.
 */
export async function compileProducts<T>(flags: Flags, compile: (flags: Flags) => Promise<T>): Promise<T> {
  try {
    return await compile(flags);
  } catch (error) {
    if (!/No supported config|Failed to get configs/.test(String(error))) throw error;
    return compile({ ...flags, xla_gpu_enable_triton_gemm: false });
  }
}
