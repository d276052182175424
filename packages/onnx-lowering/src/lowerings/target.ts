import { type AnyNode, decidingDType, type HalfDType, type Op } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";

/** Differences of an engine from ONNX Runtime, for whose kernels the lowerings are written. */
export interface Differences {
  /** Ops whose f32 kernels lose NaN, infinities, signs of zeros, subnormals, or digits of small numbers. */
  readonly differing: ReadonlySet<Op>;
  /** Reasons to refuse ops in dtypes for which they have no correct form, by `pairKey`. */
  readonly inexact: ReadonlyMap<string, string>;
  /** Whether the engine fuses a product with the only sum that reads it, which rounds once instead of twice. */
  readonly fusesProducts: boolean;
  /** Whether the engine computes 64-bit integers in 32 bits, and unsigned integers as signed ones. */
  readonly hasShortIntegers: boolean;
  /** Half dtypes to which the engine's casts do not round. */
  readonly unrounded: readonly HalfDType[];
  /** Native half dtypes whose subnormals the engine's casts turn into 0. */
  readonly flushed: readonly HalfDType[];
}

/** Facts about an engine that lowering needs. */
export interface Target {
  readonly device: "cpu" | "cuda" | "webgpu";
  /** Half dtypes whose values are held in f32 and rounded. */
  readonly emulated: readonly HalfDType[];
  /** Keys (`pairKey`) of ops in native half dtypes that are computed in f32 and rounded. */
  readonly widened: ReadonlySet<string>;
  /** Channels per block of the engine's blocked convolutions; undefined if there are none. */
  readonly blockSize: number | undefined;
  /** Whether the engine casts 64-bit integers to f32 through f64, which rounds twice. */
  readonly castsThroughDoubles: boolean;
  /** Undefined for ONNX Runtime. Other engines run nodes in the listed order and lack ORT's operator domains. */
  readonly differences?: Differences | undefined;
}

/** Whether the engine has no kernel for a node in its half dtype, or a kernel that rounds wrongly. */
export const isWidened = (node: AnyNode, { widened }: Pick<Target, "widened">): boolean =>
  widened.has(pairKey({ op: node.op, dtype: decidingDType(node) }));
