import type { GraphBuilder } from "../graph/builder.js";
import { currentBuilder, withSegment } from "./trace.js";

/** Segments opened so far in each outermost trace: numbers are the same from run to run. */
const opened = new WeakMap<GraphBuilder, number>();

/**
 * Gradient checkpointing: the function, whose intermediate values are not kept for the backward pass but
 * recomputed when it gets there, from the function's inputs. Costs about one more forward pass of `fn`; random
 * draws are the same again. Inside another checkpoint it changes nothing: the outermost one decides.
 */
export function checkpoint<A extends readonly unknown[], R>(fn: (...inputs: A) => R): (...inputs: A) => R {
  return (...inputs) => {
    let root = currentBuilder("checkpoint");
    if (root.origin.segment !== undefined) return fn(...inputs);
    while (root.parent !== undefined) root = root.parent;
    const segment = opened.get(root) ?? 0;
    opened.set(root, segment + 1);
    return withSegment(segment, () => fn(...inputs));
  };
}
