import { type AnyNode, type DType, decidingDType, type HalfDType, type Op } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";

/** How an engine differs from ONNX Runtime, for whose kernels the lowerings are written. */
export interface Differences {
  /** Ops in f32 that lose NaN, infinities, signs of zeros, subnormals, or digits of small numbers. */
  readonly differing: ReadonlySet<Op>;
  /** Why an op is refused in a dtype for which it has no correct form, by `pairKey`. */
  readonly inexact: ReadonlyMap<string, string>;
  /** Whether the engine fuses a product with the only sum that reads it, which rounds once instead of twice. */
  readonly fusesProducts: boolean;
  /** Whether the engine computes 64-bit integers in 32 bits, and unsigned ones as signed. */
  readonly hasShortIntegers: boolean;
  /** Half dtypes to which the engine's casts do not round. */
  readonly unrounded: readonly HalfDType[];
  /** Native half dtypes whose subnormals the engine's casts turn into 0. */
  readonly flushed: readonly HalfDType[];
  /** f8 dtypes to which the engine's casts round wrongly; they are refused. */
  readonly refused: readonly DType[];
}

/** Facts about an engine that lowering needs. */
export interface Target {
  readonly device: "cpu" | "cuda" | "webgpu";
  /** Half dtypes whose values are held in f32 and rounded. */
  readonly emulated: readonly HalfDType[];
  /** Ops in native half dtypes that are computed in f32 and rounded, by `pairKey`. */
  readonly widened: ReadonlySet<string>;
  /** Channels per block of the engine's blocked convolutions; undefined if it has none. */
  readonly blockSize: number | undefined;
  /** Whether the engine casts 64-bit integers to f32 through f64, which rounds twice. */
  readonly castsThroughDoubles: boolean;
  /** Undefined for ONNX Runtime. Other engines run nodes in the listed order and lack ORT's operator domains. */
  readonly differences?: Differences | undefined;
}

/** Whether the engine has no kernel for a node in its half dtype, or one that does not round to it. */
export const isWidened = (node: AnyNode, { widened }: Pick<Target, "widened">): boolean =>
  widened.has(pairKey({ op: node.op, dtype: decidingDType(node) }));
