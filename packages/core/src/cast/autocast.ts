import { type GraphBuilder, isComputeFloat, isTensor, Tensor, traceInto } from "@mp/graph";
import {
  checkOptions,
  currentBuilder,
  inlineTraced,
  isPlainObject,
  openedTo,
  pinCasts,
  withBodies,
  withoutLines,
} from "@mp/graph/internal";
import { cast } from "@mp/graph/ops";
import { autocastGraph } from "./autocast-graph.js";
import { type CastReport, explainCasts } from "./explain.js";
import { dropIdleCasts } from "./idle-casts.js";
import type { CastOptions } from "./plan.js";
import { type CastingPolicy, lowDType } from "./policy.js";

export interface AutocastOptions extends CastOptions {
  /** Called with the decisions and their reasons each time the function is traced. */
  readonly report?: (report: CastReport) => void;
}

/**
 * Applies a casting policy to a function. Works inside any trace; differentiate the result, not `fn`. Inside a function
 * that is itself under a policy, the inner policy decides for its region: `autocast(head, float32Policy)`. Parameters
 * (of the enclosing trace) and numbers take the dtype of the other operand. Parameters kept in a half look like f32
 * tensors to the function and are read without a cast wherever that half is needed. A `cast` inside is never changed,
 * even one to the tensor's own dtype: it marks where that dtype begins.
 * @throws MP_OUT_OF_RANGE, MP_UNSUPPORTED as `autocastGraph`, when the function is called
 */
export function autocast<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  policy: CastingPolicy,
  options: AutocastOptions = {},
): (...args: A) => R {
  checkOptions("autocast", options, { manifest: true, report: true });
  return (...args) => {
    const builder = currentBuilder("autocast");
    const traced = traceInto([], () => {
      if (lowDType(policy) !== undefined) pinCasts(currentBuilder("autocast"));
      return fn(...(policy.compute === "manual" ? args : (widenArgument(args, builder) as A)));
    });
    const region = openedTo(builder, traced, ({ dtype }) => isComputeFloat(dtype));
    options.report?.(explainCasts(region.graph, policy, options));
    const graph = withBodies(dropIdleCasts)(autocastGraph(region.graph, policy, options));
    const settled = inlineTraced({ ...region, graph }, [], (origin) => ({ ...origin, castSettled: true }));
    return settled as R;
  };
}

/** Gives f32 tensors in place of parameters that are kept in a half. An argument that is not a tree passes through. */
function widenArgument(argument: unknown, outer: GraphBuilder): unknown {
  if (isTensor(argument)) {
    if (argument.dtype === "f32" || !isComputeFloat(argument.dtype)) return argument;
    const role = outer.roleOf(Tensor.valueIn(argument, outer, "autocast"));
    return role === "parameter" ? withoutLines(() => cast(argument, "f32")) : argument;
  }
  if (Array.isArray(argument)) return argument.map((child) => widenArgument(child, outer));
  if (!isPlainObject(argument)) return argument;
  return Object.fromEntries(
    Object.entries(argument).map(([key, child]) => [key, widenArgument(child, outer)]),
  );
}
