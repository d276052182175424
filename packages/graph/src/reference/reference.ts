import { exactNumerics, type KernelManifest } from "../backend/manifest.js";
import type { Backend } from "../contract/backend.js";
import type { DTypeSupport } from "../contract/manifest.js";
import { DTYPES, type DType, isFloat } from "../dtype.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import type { Kernel, KernelTable } from "../kernel-backend/kernel.js";
import { kernelBackend } from "../kernel-backend/kernel-backend.js";
import { type Arithmetic, arithmetics } from "./elements/arithmetic.js";
import { fromHost, toHost } from "./elements/host.js";
import type { ReferenceKernel } from "./elements/kernel.js";
import type { Store } from "./elements/store.js";
import type { EvaluateOptions } from "./evaluate.js";
import { referenceKernels } from "./kernels.js";
import { runGraph } from "./run-graph.js";

/**
 * The reference backend: every op in every dtype, bit-exact, in pure TypeScript, on the calling thread. In f64
 * arithmetic floats are computed in f64 and rounded to their dtype only when they are copied to the host.
 */
export async function reference(options: EvaluateOptions = {}): Promise<Backend> {
  const arithmetic = arithmetics[options.arithmetic ?? "exact"];
  return kernelBackend<Store>({
    name: arithmetic.mode === "exact" ? "reference" : "reference-f64",
    manifest: manifests[arithmetic.mode],
    kernels: bindKernels(arithmetic),
    upload: (tensor) => fromHost(tensor, arithmetic),
    download: toHost,
    bytes: (data) => data.byteLength,
  });
}

function bindKernels(arithmetic: Arithmetic): KernelTable<Store> {
  const bind = <K extends Op>(op: K): Kernel<OpAttributes[K], Store> => {
    const kernel: ReferenceKernel<K> = referenceKernels[op];
    return (inputs, attributes, outputs) => kernel(inputs, attributes, outputs, arithmetic, runGraph);
  };
  return Object.fromEntries((Object.keys(referenceKernels) as Op[]).map((op) => [op, bind(op)]));
}

const dtypes = Object.fromEntries(
  DTYPES.map((dtype): [DType, DTypeSupport] =>
    isFloat(dtype) && dtype !== "f32"
      ? [dtype, { storage: "f32", compute: "emulated" }]
      : [dtype, { storage: dtype, compute: "native" }],
  ),
);

const exact: KernelManifest = {
  engine: { name: "@mp/core reference", version: "v1" },
  device: "cpu",
  dtypes,
  ...exactNumerics,
  tolerance: { default: { f32: 0, f16: 0, bf16: 0 } },
  eventLoop: "blocked-during-step",
};

const manifests: Readonly<Record<Arithmetic["mode"], KernelManifest>> = {
  exact,
  f64: { ...exact, rounding: { f32: "unspecified", f16: "unspecified", bf16: "unspecified" } },
};
