import type { GraphBuilder } from "../graph/build/builder.js";

const pinned = new WeakSet<GraphBuilder>();

/** Marks a builder whose trace will get a casting policy. */
export function pinCasts(builder: GraphBuilder): void {
  pinned.add(builder);
}

/**
 * Whether to keep a cast to a tensor's own dtype. Such a cast has an effect under a policy: a value that is f32 while
 * tracing may get a half dtype, and `cast(x, "f32")` keeps it in f32 from there on.
 */
export function pinsCasts(builder: GraphBuilder): boolean {
  for (let at: GraphBuilder | undefined = builder; at !== undefined; at = at.parent) {
    if (pinned.has(at)) return true;
  }
  return false;
}
