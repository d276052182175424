import { type AnyNode, type DType, decidingDType, type HalfDType, type Op } from "@mp/graph";
import { pairKey } from "@mp/graph/backend";

/** The differences of an engine from ONNX Runtime, for whose kernels the lowerings are written. */
export interface Differences {
  /** Ops on f32 that lose NaN, infinities, signs of zeros, subnormal numbers, or digits of small ones. */
  readonly differing: ReadonlySet<Op>;
  /** Ops that have no correct form in a dtype, by `pairKey`, and why they are refused. */
  readonly inexact: ReadonlyMap<string, string>;
  /** Whether it fuses a product with the only sum that reads it, which rounds once instead of twice. */
  readonly fusesProducts: boolean;
  /** Whether it computes 64-bit integers in 32 bits, and unsigned ones as signed. */
  readonly hasShortIntegers: boolean;
  /** Halves to which the engine's casts do not round. */
  readonly unrounded: readonly HalfDType[];
  /** Native halves whose subnormal numbers its casts take for 0. */
  readonly flushed: readonly HalfDType[];
  /** 8-bit floats to which the engine's casts round wrongly, and which are refused. */
  readonly refused: readonly DType[];
}

/** Facts about the engine that lowering needs. */
export interface Target {
  readonly device: "cpu" | "cuda" | "webgpu";
  /** Halves that are carried in f32. */
  readonly emulated: readonly HalfDType[];
  /** The ops in the other halves that are computed in f32 and rounded, by `pairKey`. */
  readonly widened: ReadonlySet<string>;
  /** Channels that the engine's blocked convolutions keep together; undefined where it has none. */
  readonly blockSize: number | undefined;
  /** Whether the engine casts 64-bit integers to f32 through f64, rounding twice. */
  readonly castsThroughDoubles: boolean;
  /** Undefined for a build of ONNX Runtime: any other engine takes nodes in order, and has no operators of its domains. */
  readonly differences?: Differences | undefined;
}

/** Whether the engine has no kernel for a node's halves, or one that does not round to them. */
export const isWidened = (node: AnyNode, { widened }: Pick<Target, "widened">): boolean =>
  widened.has(pairKey({ op: node.op, dtype: decidingDType(node) }));
