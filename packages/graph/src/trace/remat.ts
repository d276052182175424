import { oneOf } from "../argument-checks.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { readOptions, withDefault } from "../option-table.js";
import { currentBuilder, withoutSegment, withSegment } from "./trace.js";

/** Number of `remat` segments in each outermost trace until now; segment numbers are the same in every run. */
const opened = new WeakMap<GraphBuilder, number>();
/** Segments of each outermost trace that keep their random masks. */
const keepers = new WeakMap<GraphBuilder, Set<number>>();

export interface RematOptions {
  /**
   * `keep` stores the masks of `randomBernoulli`, and so of dropout, one byte for each element. `recompute` (default)
   * draws them again, although drawing takes longer than any other elementwise operator.
   */
  readonly masks?: "recompute" | "keep";
}

const REMAT = { masks: withDefault("recompute" as const, oneOf("recompute", "keep")) };

/**
 * Gradient checkpointing, called rematerialization (`remat`) in JAX: intermediate values of the function are not kept
 * for the backward pass but recomputed there from the function's inputs. The recomputation costs about one more forward
 * pass of `fn`, and draws the same random numbers. Inside another `remat` it has no effect.
 * @throws MP_INVALID_ARGUMENT for unknown options
 */
export function remat<A extends readonly unknown[], R>(
  fn: (...inputs: A) => R,
  options: RematOptions = {},
): (...inputs: A) => R {
  const { masks } = readOptions("remat", options, REMAT, { example: '{ masks: "keep" }' });
  return (...inputs) => {
    const builder = currentBuilder("remat");
    if (builder.origin.segment !== undefined) return fn(...inputs);
    const root = findRoot(builder);
    const segment = opened.get(root) ?? 0;
    opened.set(root, segment + 1);
    if (masks === "keep") keepers.set(root, (keepers.get(root) ?? new Set()).add(segment));
    return withSegment(segment, () => fn(...inputs));
  };
}

/** Runs `body`, which draws a random mask. If the segment keeps its masks, runs `body` outside of the segment. */
export function drawingMask<T>(body: () => T): T {
  const builder = currentBuilder("remat");
  const { segment } = builder.origin;
  const isKept = segment !== undefined && keepers.get(findRoot(builder))?.has(segment) === true;
  return isKept ? withoutSegment(body) : body();
}

function findRoot(builder: GraphBuilder): GraphBuilder {
  let root = builder;
  while (root.parent !== undefined) root = root.parent;
  return root;
}
