import type { HalfDType } from "@mp/core";
import { pairKey } from "@mp/core/backend";
import { type AnyNode, decidingDType } from "@mp/core/graph";

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
}

/** Whether the engine has no kernel for a node's halves, or one that does not round to them. */
export const isWidened = (node: AnyNode, { widened }: Pick<Target, "widened">): boolean =>
  widened.has(pairKey({ op: node.op, dtype: decidingDType(node) }));
