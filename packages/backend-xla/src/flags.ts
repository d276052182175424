import type { BackendManifest } from "@mp/graph";
import type { ProgramModule } from "./module.js";
import type { Client, Flags } from "./pjrt/index.js";

/** Device names as in manifests, by the name of the plugin's platform. */
const DEVICES: Readonly<Record<string, BackendManifest["device"]>> = { cpu: "cpu", cuda: "cuda" };

export const deviceOf = ({ platform }: Pick<Client, "platform">): BackendManifest["device"] =>
  DEVICES[platform.toLowerCase()] ?? "other";

/**
 * XLA flags that make results equal in every run, and rounded exactly where the graph says. The plugins for
 * CPU and GPU share one list of flags, so each plugin accepts flags for the other.
 */
export const EXACT_FLAGS: Flags = {
  // Otherwise casts to a half dtype and back may be left out.
  xla_allow_excess_precision: false,
  // Otherwise the greater of 1 and NaN is 1.
  xla_cpu_enable_fast_min_max: false,
  // Otherwise scatters add in the order in which threads arrive.
  xla_gpu_exclude_nondeterministic_ops: true,
};

export const DEVICE_FLAGS: Readonly<Record<BackendManifest["device"], Flags>> = {
  cpu: {
    ...EXACT_FLAGS,
    // The CPU serves only tests, which compile thousands of programs and run each a few times.
    xla_backend_optimization_level: 0,
    xla_cpu_parallel_codegen_split_count: 1,
  },
  cuda: {
    ...EXACT_FLAGS,
    // Otherwise xla_gpu_exclude_nondeterministic_ops rules out Triton's products, though each adds in a fixed order.
    xla_gpu_experimental_deterministic_ops_triton: "DETERMINISTIC_OPS_TRITON_MODE_UNCHECKED",
    // Bytes of gradients that one sum over devices takes: enough to use the links, few enough to begin early.
    xla_gpu_all_reduce_combine_threshold_bytes: 25 * 2 ** 20,
  },
  webgpu: EXACT_FLAGS,
  other: EXACT_FLAGS,
};

const BYTE_PRODUCTS: Flags = {
  // XLA's Triton kernels widen the operands. Only without them cuBLASLt is called.
  xla_gpu_enable_triton_gemm: false,
  // Otherwise products that share an operand become one, whose other operand has several scales and is widened.
  xla_gpu_dot_merger_threshold_mb: 0,
};

/** The flags of a program, of which those for products of 8-bit floats have an effect on `cuda` only. */
export const flagsFor = (flags: Flags, { multipliesBytes }: Pick<ProgramModule, "multipliesBytes">): Flags =>
  multipliesBytes ? { ...flags, ...BYTE_PRODUCTS } : flags;

/**
 * Compiles with the flags. XLA's Triton kernels have no tiles for some small products, such as 16 by 64 by 3,
 * and `xla_gpu_exclude_nondeterministic_ops` keeps libraries from computing these. A program with such a
 * product is compiled again without Triton: libraries or plain kernels then compute its products.
 */
export async function compileProducts<T>(flags: Flags, compile: (flags: Flags) => Promise<T>): Promise<T> {
  try {
    return await compile(flags);
  } catch (error) {
    if (!/No supported config|Failed to get configs/.test(String(error))) throw error;
    return compile({ ...flags, xla_gpu_enable_triton_gemm: false });
  }
}
