/** `@mp/core/graph`: `@mp/graph` and the passes that cast a graph. */

export * from "@mp/graph";
export { autocastGraph } from "../cast/autocast-graph.js";
export { dropIdleCasts } from "../cast/idle-casts.js";
export type { CastOptions } from "../cast/plan.js";
export type { OpCategories } from "../cast/policy.js";
