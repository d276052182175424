/**
 * The declaration of a backend: plain data, with an entry for each dtype and operator, and the reason if unsupported.
 * Core lowers graphs by the manifest, users read it, and the conformance suite tests the backend against it.
 */
import type { ComputeDType, DType } from "../dtype.js";
import type { Op } from "../graph/attributes.js";

/** Supported, or unsupported for a reason that users see. */
export type Support<T = true> = T | { readonly unsupported: string };

export type Nativeness = "native" | "emulated";

export interface DTypeSupport {
  /** The dtype in the engine's memory: f32 for an emulated f16, i32 for i64 on a GPU that lacks i64. */
  readonly storage: DType;
  /**
   * `emulated`: exact results of this dtype, computed in another dtype; never faster. An i64 stored as i32 is exact
   * only within the range of i32: larger data is refused with MP_OUT_OF_RANGE, larger results are unspecified.
   */
  readonly compute: Nativeness;
}

/** Units in the last place of the result's dtype. */
export type Ulp = number;

export interface OpTolerance {
  readonly f32: Ulp;
  readonly f16: Ulp;
  readonly bf16: Ulp;
}

/** The dtype that sums accumulate in, by operand dtype: f16 terms in an f32 accumulator round once, at the end. */
export type Accumulators = Readonly<Record<ComputeDType, ComputeDType>>;

export interface Accumulation {
  /** For every operator that accumulates, except those in `ops`. */
  readonly default: Accumulators;
  /** Operators that differ from `default`, by operand dtype. */
  readonly ops?: Readonly<Partial<Record<Op, Readonly<Partial<Accumulators>>>>>;
  /**
   * How products of matrices add whose operands a recipe quantizes to 8-bit floats under one scale. `split-f32`: parts of
   * the sum in fewer bits than f32 has, and the parts in f32. `fewer-bits`: all of it. Absent if the engine has no such
   * product and computes it in a wider dtype, which is emulation.
   */
  readonly f8?: "split-f32" | "fewer-bits";
}

export interface BackendManifest {
  readonly specVersion: "v1";
  /** Name and version of the engine as it reports them. */
  readonly engine: { readonly name: string; readonly version: string };
  readonly device: "cpu" | "cuda" | "webgpu" | "other";
  readonly dtypes: Readonly<Record<DType, Support<DTypeSupport>>>;
  /** The dtype that matrix products, reductions and other sums accumulate in; `accumulatorOf` reads it. */
  readonly accumulate: Accumulation;
  readonly rounding: Readonly<Record<ComputeDType, "nearest-even" | "toward-zero" | "unspecified">>;
  readonly subnormals: Readonly<Record<ComputeDType, "preserve" | "flush">>;
  /** The result of a cast beyond the largest finite value. */
  readonly overflow: Readonly<Record<ComputeDType, "infinity" | "saturate">>;
  /** Per op, the supported dtypes of its first floating operand or, if it has none, of its first operand. */
  readonly ops: Readonly<Record<Op, Support<readonly DType[]>>>;
  readonly tolerance: Readonly<Partial<Record<Op, OpTolerance>> & { readonly default: OpTolerance }>;
  /** Whether the same graph and inputs give the same bits in every run. */
  readonly determinism: Support;
  /** Whether timers and I/O continue while a step runs. */
  readonly eventLoop: "free" | "blocked-during-step";
  /** Whether `Executable.profile` is present. */
  readonly profile: Support;
  /** Whether `Executable.memory` is present. */
  readonly memory: Support;
  /**
   * When a run allocates the memory of the next state: `from-the-start` (default), as with two buffers that swap
   * places, or `as-computed`. Estimates of a step's peak depend on it.
   */
  readonly nextState?: "from-the-start" | "as-computed";
  /**
   * What happens to the state if the engine fails during a run, for example for lack of memory. `keep-state` (default):
   * every slot is as it was. `lose-state`: the state may be lost, because the engine overwrites it in place; every
   * later use of it throws MP_BACKEND_FAILED. If the data are at fault, as with an index out of range, every engine
   * keeps the state.
   */
  readonly failedRuns?: "keep-state" | "lose-state";
  /**
   * When the memory of an intermediate result is released: `freed` (default) after its last read, or
   * `kept-for-its-shape` until the last read of the last result of its shape. Estimates of a step's peak depend on it.
   */
  readonly intermediates?: "freed" | "kept-for-its-shape";
  /**
   * Whether a result of a convolution, its transpose or its gradients is non-finite exactly where IEEE 754 makes the
   * sum of its terms non-finite; products with padding zeros are terms, too. Default: supported. If unsupported, a
   * result is still non-finite where one of its terms is, padding aside; other results may be NaN.
   */
  readonly nonFiniteConvolution?: Support;
  /**
   * Whether `Backend.adopt` is present, so that batches may hold the engine library's own tensors. Default: not
   * supported.
   */
  readonly adopt?: Support;
}

/** Returns the manifest with its literal types; the compiler checks that no entry is missing. */
export function defineManifest<const M extends BackendManifest>(manifest: M): M {
  return manifest;
}

/** The dtype that an operator accumulates in for operands of that dtype, as the manifest declares. */
export function accumulatorOf(
  { accumulate }: Pick<BackendManifest, "accumulate">,
  op: Op,
  dtype: ComputeDType,
): ComputeDType {
  return accumulate.ops?.[op]?.[dtype] ?? accumulate.default[dtype];
}

/** Whether the backend has a kernel of that operator for operands of that dtype. */
export function supportsOp({ ops }: Pick<BackendManifest, "ops">, op: Op, dtype: DType): boolean {
  const support = ops[op];
  return "includes" in support && support.includes(dtype);
}

/** The reason a manifest gives for not supporting something, or undefined when it supports it. */
export function unsupportedReason(support: Support<unknown>): string | undefined {
  return typeof support === "object" && support !== null && "unsupported" in support
    ? String(support.unsupported)
    : undefined;
}
