import type { GraphBuilder } from "../graph/builder.js";

const pinned = new WeakSet<GraphBuilder>();

/** Says that a casting policy will be applied to what this builder traces. */
export function pinCasts(builder: GraphBuilder): void {
  pinned.add(builder);
}

/**
 * Whether a cast to a tensor's own dtype is to be kept. Under a policy it is no idle word: what is f32 while
 * tracing may be a half afterwards, and `cast(x, "f32")` says that from here on it shall not.
 */
export function pinsCasts(builder: GraphBuilder): boolean {
  for (let at: GraphBuilder | undefined = builder; at !== undefined; at = at.parent) {
    if (pinned.has(at)) return true;
  }
  return false;
}
