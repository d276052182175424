import type { GraphBuilder } from "../graph/builder.js";
import { currentBuilder, withSegment } from "./trace.js";

/** Number of segments so far in each outermost trace; segment numbers are the same in every run. */
const opened = new WeakMap<GraphBuilder, number>();

/**
 * Gradient checkpointing, called rematerialization (`remat`) in JAX: intermediate values of the function are not kept for the backward pass but recomputed there
 * from the function's inputs. Costs about one more forward pass of `fn`; random numbers are the same again. Inside
 * another `remat` it has no effect: the outermost one decides.
 */
export function remat<A extends readonly unknown[], R>(fn: (...inputs: A) => R): (...inputs: A) => R {
  return (...inputs) => {
    let root = currentBuilder("remat");
    if (root.origin.segment !== undefined) return fn(...inputs);
    while (root.parent !== undefined) root = root.parent;
    const segment = opened.get(root) ?? 0;
    opened.set(root, segment + 1);
    return withSegment(segment, () => fn(...inputs));
  };
}
