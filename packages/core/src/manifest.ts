/**
 * What a backend says of itself: plain data, total over dtypes and operators, with a reason wherever
 * something is unsupported. Core lowers by it, users read it, the conformance suite holds the backend to it.
 */
import type { ComputeDType, DType } from "./dtype.js";
import type { Op } from "./graph/attributes.js";

/** The reason is obligatory: it is shown to users. */
export type Support<T = true> = T | { readonly unsupported: string };

export type Nativeness = "native" | "emulated";

export interface DTypeSupport {
  /** What a tensor of this dtype occupies in the engine: f16 emulated in f32 says f32. */
  readonly storage: DType;
  /** `emulated`: exact results of this dtype, computed in another; never a speed-up. */
  readonly compute: Nativeness;
}

/** Units in the last place of the result's dtype. */
export type Ulp = number;

export interface OpTolerance {
  readonly f32: Ulp;
  readonly f16: Ulp;
  readonly bf16: Ulp;
}

export interface BackendManifest {
  readonly specVersion: "v1";
  /** Name and version of the engine as it reports them. */
  readonly engine: { readonly name: string; readonly version: string };
  readonly device: "cpu" | "cuda" | "other";
  readonly dtypes: Readonly<Record<DType, Support<DTypeSupport>>>;
  /** What a matrix product or a sum of that dtype accumulates in. */
  readonly accumulate: Readonly<Record<ComputeDType, ComputeDType>>;
  readonly rounding: Readonly<Record<ComputeDType, "nearest-even" | "toward-zero" | "unspecified">>;
  readonly subnormals: Readonly<Record<ComputeDType, "preserve" | "flush">>;
  /** What a finite value beyond the largest becomes. */
  readonly overflow: Readonly<Record<ComputeDType, "infinity" | "saturate">>;
  /** For each op the dtypes of its first floating (or first) operand that compile. */
  readonly ops: Readonly<Record<Op, Support<readonly DType[]>>>;
  readonly tolerance: Readonly<Partial<Record<Op, OpTolerance>> & { readonly default: OpTolerance }>;
  /** The same graph and inputs give the same bits in every run. */
  readonly determinism: Support;
  /** Whether timers and I/O go on while a step runs. */
  readonly eventLoop: "free" | "blocked-during-step";
  /** `Executable.profile` is there. */
  readonly profile: Support;
  /** `Executable.memory` is there. */
  readonly memory: Support;
  /** `Backend.adopt` is there: batches may hold the engine library's own tensors. Left out: they may not. */
  readonly adopt?: Support;
}

/** Keeps literal types while checking totality. */
export function defineManifest<const M extends BackendManifest>(manifest: M): M {
  return manifest;
}

/** The reason a manifest gives for not supporting something, or undefined when it supports it. */
export function unsupportedReason(support: Support<unknown>): string | undefined {
  return typeof support === "object" && support !== null && "unsupported" in support
    ? String(support.unsupported)
    : undefined;
}
