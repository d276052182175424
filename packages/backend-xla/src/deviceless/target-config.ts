import type { GpuTarget } from "./gpu-target-table.js";

/** Properties that all supported NVIDIA GPUs share. */
const COMMON = `threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  threads_per_core_limit: 2048
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  device_vendor: "NVIDIA Corporation"
  device_address_bits: 64
  ecc_enabled: true`;

/** XLA's codes of the types for which a device has rates. */
const TYPES = { f16: 10, f32: 11, bf16: 16, f8e5m2: 19, f8e4m3: 20 };

/** The first major compute capability with architecture-specific instructions and 8-bit matrix units. */
const HOPPER = 9;

/** The CUDA version for which the plugin is built. */
const TOOLKIT = "13.0.0";
/** The cuDNN version for which the plugin is built; it decides which cuDNN functions may be called. */
const CUDNN = [9, 10, 0];

/** Describes a device in the text format of XLA's GpuTargetConfigProto. */
export function targetConfig(target: GpuTarget): string {
  const [major, minor] = target.capability;
  const isHopper = major >= HOPPER;
  const extension = isHopper ? "ACCELERATED_FEATURES" : "NONE";
  const half = target.halvesPerClock;
  const perHalf = { f16: half, bf16: half, f32: half / 2 };
  const matrix = isHopper ? { ...perHalf, f8e5m2: 2 * half, f8e4m3: 2 * half } : perHalf;
  const scalar = { f16: 1, bf16: 1, f32: 1 };
  return `gpu_device_info {
  ${COMMON}
  core_count: ${target.cores}
  fpus_per_core: ${target.unitsPerCore}
  memory_bandwidth: ${target.published.bytesPerSecond}
  l2_cache_size: ${target.cacheBytes}
  clock_rate_ghz: ${target.clockGhz}
  device_memory_size: ${target.memoryBytes}
  shared_memory_per_core: ${target.sharedBytes[0]}
  shared_memory_per_block_optin: ${target.sharedBytes[1]}
  cuda_compute_capability { major: ${major} minor: ${minor} feature_extension: ${extension} }
  scalar_unit_description { ${rates(scalar, target.unitsPerCore, target.clockGhz)} }
  matrix_unit_description { ${rates(matrix, 4, target.clockGhz)} }
  name: "${target.name}"
  driver_version: "${TOOLKIT}"
  runtime_version: "${TOOLKIT}"
  compile_time_toolkit_version: "${TOOLKIT}"
  dnn_version: "${CUDNN.join(".")}"
}
platform_name: "CUDA"
dnn_version_info { major: ${CUDNN[0]} minor: ${CUDNN[1]} patch: ${CUDNN[2]} }
device_description_str: "${target.name}"
`;
}

function rates(
  perClock: Readonly<Partial<Record<keyof typeof TYPES, number>>>,
  units: number,
  clockGhz: number,
) {
  return Object.entries(perClock)
    .map(
      ([type, operations]) =>
        `rate_infos { key: ${TYPES[type as keyof typeof TYPES]} value { clock_rate_ghz: ${clockGhz} units_per_core: ${units} ops_per_clock: ${operations} } }`,
    )
    .join(" ");
}
