import type { GraphBuilder } from "../graph/build/builder.js";

const pinned = new WeakMap<GraphBuilder, boolean>();

/** Marks a builder whose trace will get a casting policy, or inside of such a trace one that gets none. */
export function pinCasts(builder: GraphBuilder, isCast = true): void {
  pinned.set(builder, isCast);
}

/**
 * Whether to keep a cast to a tensor's own dtype. Under a policy it is not a no-op: a value that is f32 while tracing
 * may become a half, and `cast(x, "f32")` keeps it in f32 from there on.
 */
export function pinsCasts(builder: GraphBuilder): boolean {
  for (let at: GraphBuilder | undefined = builder; at !== undefined; at = at.parent) {
    const isCast = pinned.get(at);
    if (isCast !== undefined) return isCast;
  }
  return false;
}
