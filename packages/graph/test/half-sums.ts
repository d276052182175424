/** The reference backend with kernels that accumulate in the half dtype of their operands, as engines may. */

import { exactNumerics, type KernelManifest } from "../src/backend/manifest.js";
import type { Backend } from "../src/contract/backend.js";
import type { Accumulation } from "../src/contract/manifest.js";
import { type DType, type HalfDType, isHalf } from "../src/dtype.js";
import { roundTo } from "../src/float-format/round.js";
import type { Op, OpAttributes } from "../src/graph/attributes.js";
import { decidingDType } from "../src/graph/op-dtypes.js";
import type { Kernel, KernelTable } from "../src/kernel-backend/kernel.js";
import { kernelBackend } from "../src/kernel-backend/kernel-backend.js";
import { type Arithmetic, arithmetics } from "../src/reference/elements/arithmetic.js";
import { fromHost, toHost } from "../src/reference/elements/host.js";
import type { ReferenceKernel } from "../src/reference/elements/kernel.js";
import type { Store } from "../src/reference/elements/store.js";
import { referenceKernels } from "../src/reference/kernels.js";
import { runGraph } from "../src/reference/run-graph.js";

/** The numbers, each rounded to the half dtype when it is stored again; also in copies. */
function rounding(half: HalfDType, numbers: Float32Array): Float32Array {
  return new Proxy(numbers, {
    get: (store, key) => {
      const value: unknown = Reflect.get(store, key, store);
      if (typeof value !== "function") return value;
      return (...parts: unknown[]) => {
        const result: unknown = value.apply(store, parts);
        return result instanceof Float32Array ? rounding(half, result) : result;
      };
    },
    set: (store, key, value: number) => Reflect.set(store, key, roundTo(half, value), store),
  });
}

const arithmeticIn = (half: HalfDType): Arithmetic => ({
  ...arithmetics.exact,
  floats: (length) => rounding(half, new Float32Array(length)),
  allocate: (dtype, length) => {
    const store = arithmetics.exact.allocate(dtype, length);
    return store instanceof Float32Array ? rounding(half, store) : store;
  },
});

/** The results of one kernel; with `half`, it accumulates in that half dtype. */
function runOracle<K extends Op>(op: K, half: HalfDType | undefined): Kernel<OpAttributes[K], Store> {
  const kernel: ReferenceKernel<K> = referenceKernels[op];
  return (inputs, attributes, outputs) => {
    if (half === undefined) return kernel(inputs, attributes, outputs, arithmetics.exact, runGraph);
    const rounded = inputs.map((input) =>
      input?.data instanceof Float32Array ? { ...input, data: rounding(half, input.data) } : input,
    );
    const results = kernel(rounded as typeof inputs, attributes, outputs, arithmeticIn(half), runGraph);
    return results.map((store) => (store instanceof Float32Array ? Float32Array.from(store) : store));
  };
}

const NATIVE: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64", "u64", "bool"];

/**
 * f32, f16, bf16 and what training counts in, all native; accumulates as the options say, and declares that by default.
 */
export function halfSumsBackend(really: Accumulation, claims: Partial<KernelManifest> = {}): Backend {
  const inHalves = (op: Op): Kernel<never, Store> => {
    const exact = runOracle(op, undefined) as Kernel<never, Store>;
    return (inputs, attributes, outputs) => {
      const dtype = decidingDType({ op, inputs, outputs });
      const inside = isHalf(dtype) ? (really.ops?.[op]?.[dtype] ?? really.default[dtype]) : "f32";
      if (!isHalf(inside)) return exact(inputs, attributes, outputs);
      return (runOracle(op, inside) as Kernel<never, Store>)(inputs, attributes, outputs);
    };
  };
  const ops = Object.keys(referenceKernels) as Op[];
  return kernelBackend<Store>({
    name: "half-sums",
    kernels: Object.fromEntries(ops.map((op) => [op, inHalves(op)])) as KernelTable<Store>,
    manifest: {
      engine: { name: "half-sums", version: "1" },
      device: "cpu",
      dtypes: Object.fromEntries(NATIVE.map((dtype) => [dtype, { storage: dtype, compute: "native" }])),
      ...exactNumerics,
      accumulate: really,
      tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
      eventLoop: "blocked-during-step",
      ...claims,
    },
    upload: (tensor) => fromHost(tensor, arithmetics.exact),
    download: toHost,
  });
}
