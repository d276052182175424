/** Rates that a device's maker publishes. */
export interface PublishedRates {
  readonly bytesPerSecond: number;
  /**
   * Multiplications and additions per second of matrix products, without sparsity, by operand type; a type
   * for which the device has no units is absent.
   */
  readonly flopsPerSecond: Readonly<Partial<Record<RatedType, number>>>;
  /** The maker's document that states these rates. */
  readonly source: string;
}

/** Operand types that have published rates. `tf32` is f32 rounded to 10 fraction bits in the product. */
export type RatedType = "f32" | "tf32" | "f16" | "bf16" | "f8";

/** A GPU to compile for: its properties as CUDA reports them, and the rates that its maker publishes. */
export interface GpuTarget {
  readonly name: string;
  /** The compute capability. */
  readonly capability: readonly [major: number, minor: number];
  readonly cores: number;
  /** Number of f32 units per core. */
  readonly unitsPerCore: number;
  /** Operations on half dtypes per clock cycle of one matrix unit; each core has four such units. */
  readonly halvesPerClock: number;
  readonly clockGhz: number;
  readonly memoryBytes: number;
  readonly cacheBytes: number;
  /** Bytes of memory that the threads of a core share: in all, and the most that one block can use. */
  readonly sharedBytes: readonly [core: number, block: number];
  readonly published: PublishedRates;
}

const TERA = 1e12;

const flops = (f32: number, tf32: number, half: number): PublishedRates["flopsPerSecond"] => ({
  f32: f32 * TERA,
  tf32: tf32 * TERA,
  f16: half * TERA,
  bf16: half * TERA,
});

/** Operations per second by type; f8 is twice as fast as the half dtypes. */
const flopsWithF8 = (f32: number, tf32: number, half: number): PublishedRates["flopsPerSecond"] => ({
  ...flops(f32, tf32, half),
  f8: 2 * half * TERA,
});

const SHARED_SINCE_HOPPER = [233_472, 232_448] as const;

const HOPPER = {
  capability: [9, 0],
  cores: 132,
  unitsPerCore: 128,
  halvesPerClock: 512,
  clockGhz: 1.98,
  cacheBytes: 52_428_800,
  sharedBytes: SHARED_SINCE_HOPPER,
} as const;

const HOPPER_FLOPS = flopsWithF8(66.9, 494.7, 989.4);

const BLACKWELL = {
  capability: [10, 0],
  unitsPerCore: 128,
  halvesPerClock: 1024,
  sharedBytes: SHARED_SINCE_HOPPER,
} as const;

export type GpuTargetName = "a100" | "h100" | "h200" | "b200" | "gb200";

/** GPUs by the name that users pass as `target`. */
export const GPU_TARGETS: Readonly<Record<GpuTargetName, GpuTarget>> = {
  a100: {
    name: "NVIDIA A100-SXM4-80GB",
    capability: [8, 0],
    cores: 108,
    unitsPerCore: 64,
    halvesPerClock: 256,
    clockGhz: 1.41,
    memoryBytes: 85_100_068_864,
    cacheBytes: 41_943_040,
    sharedBytes: [167_936, 166_912],
    published: {
      bytesPerSecond: 2.039 * TERA,
      flopsPerSecond: flops(19.5, 156, 312),
      source: "NVIDIA A100 Tensor Core GPU data sheet, 80 GB SXM",
    },
  },
  h100: {
    ...HOPPER,
    name: "NVIDIA H100 80GB HBM3",
    memoryBytes: 84_942_979_072,
    published: {
      bytesPerSecond: 3.35 * TERA,
      flopsPerSecond: HOPPER_FLOPS,
      source: "NVIDIA H100 Tensor Core GPU Architecture, SXM5",
    },
  },
  h200: {
    ...HOPPER,
    name: "NVIDIA H200 141GB HBM3e",
    memoryBytes: 151_397_597_184,
    published: {
      bytesPerSecond: 4.8 * TERA,
      flopsPerSecond: HOPPER_FLOPS,
      source: "NVIDIA H200 Tensor Core GPU data sheet, SXM; its products are the H100's",
    },
  },
  b200: {
    ...BLACKWELL,
    name: "NVIDIA B200",
    cores: 148,
    clockGhz: 1.965,
    memoryBytes: 191_514_411_008,
    cacheBytes: 132_644_864,
    published: {
      bytesPerSecond: 7.7 * TERA,
      flopsPerSecond: flopsWithF8(75, 1100, 2250),
      source: "NVIDIA Blackwell data sheet, HGX B200; products are half of those with sparsity",
    },
  },
  gb200: {
    ...BLACKWELL,
    name: "NVIDIA GB200",
    cores: 152,
    clockGhz: 2.062,
    memoryBytes: 197_897_748_480,
    cacheBytes: 135_528_448,
    published: {
      bytesPerSecond: 8 * TERA,
      flopsPerSecond: flopsWithF8(80, 1250, 2500),
      source: "NVIDIA Blackwell data sheet, GB200 NVL72; products are half of those with sparsity",
    },
  },
};
