import { oneOf } from "../argument-checks.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { readOptions, withDefault } from "../option-table.js";
import { currentBuilder, withoutSegment, withSegment } from "./trace.js";

/** Number of segments in each outermost trace until now; segment numbers are the same in every run. */
const opened = new WeakMap<GraphBuilder, number>();
/** Segments of each outermost trace that keep their random masks. */
const keepers = new WeakMap<GraphBuilder, Set<number>>();

export interface RematOptions {
  /**
   * `keep` stores the masks of `randomBernoulli`, and so of dropout, one byte for each element. `recompute` (default)
   * draws them again, which takes longer than any other elementwise operator.
   */
  readonly masks?: "recompute" | "keep";
}

const REMAT = { masks: withDefault("recompute" as const, oneOf("recompute", "keep")) };

/**
 * Gradient checkpointing, called rematerialization (`remat`) in JAX: intermediate values of the function are not kept
 * for the backward pass but recomputed there from the function's inputs. It costs about one more forward pass of
 * `fn`; random numbers are the same again. Inside another `remat` it has no effect.
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

/** Runs code that draws a random mask, outside of the segment if that keeps its masks. */
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
