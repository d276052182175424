import { type Graph, type GraphBuilder, isComputeFloat, isTensor, Tensor, traceInto } from "@mp/graph";
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
import type { RecipeContext } from "../quantize/quantize-products.js";
import { checkRecipe } from "../quantize/recipe.js";
import { autocastGraph } from "./autocast-graph.js";
import { type CastReport, explainCasts } from "./explain.js";
import { dropIdleCasts } from "./idle-casts.js";
import type { CastOptions } from "./plan.js";
import { type CastingPolicy, lowDType } from "./policy.js";

export interface AutocastOptions extends CastOptions, RecipeContext {
  /** Called with the decisions and their reasons each time the function is traced. */
  readonly report?: (report: CastReport) => void;
}

/**
 * Applies a casting policy to a function. Works inside any trace; differentiate the result, not `fn`. Where calls nest,
 * the inner policy decides for the inner function: `autocast(head, float32Policy)`. Parameters (of the enclosing trace)
 * and numbers take the dtype of an operator's other operand. Parameters kept in a half dtype look like f32 tensors to
 * the function and are read without a cast wherever that half dtype is needed. A `cast` call in `fn` is never changed,
 * even to the dtype that the tensor already has: it marks where that dtype begins.
 * @throws MP_OUT_OF_RANGE, MP_UNSUPPORTED as `autocastGraph`, when the function is called
 */
export function autocast<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  policy: CastingPolicy,
  options: AutocastOptions = {},
): (...args: A) => R {
  checkOptions("autocast", options, {
    manifest: true,
    recipe: true,
    report: true,
    key: true,
    encodes: true,
  });
  const { recipe, key, encodes } = options;
  if (recipe !== undefined) checkRecipe("autocast: recipe", recipe);
  return (...args) => {
    const builder = currentBuilder("autocast");
    const traced = traceInto([], () => {
      if (lowDType(policy) !== undefined) pinCasts(currentBuilder("autocast"));
      return fn(...(policy.compute === "manual" ? args : (widenArgument(args, builder) as A)));
    });
    const opened = openedTo(builder, traced, ({ dtype }) => isComputeFloat(dtype));
    const expanded = recipe?.pass.expandedFor(opened.graph, recipe);
    const region = expanded === undefined ? opened : { ...opened, graph: expanded };
    const scaled = recipe?.pass.encodesByInput(region, encodes);
    const planned = recipe && {
      ...recipe,
      pass: { ...recipe.pass, planProducts: (of: Graph) => recipe.pass.planProducts(of, recipe, scaled) },
    };
    options.report?.(explainCasts(region.graph, policy, { ...options, recipe: planned }));
    const graph = withBodies(dropIdleCasts)(autocastGraph(region.graph, policy, options));
    const cast = { ...region, graph };
    const quantized = recipe?.pass.quantizeProducts(cast, { recipe, key, encodes }) ?? cast;
    const settledBy = recipe === undefined ? "policy" : "recipe";
    return inlineTraced(quantized, [], ({ castSettled = settledBy, ...origin }) => ({
      ...origin,
      castSettled,
    })) as R;
  };
}

/** Gives f32 tensors in place of parameters that are kept in a half dtype. Other arguments than trees pass through. */
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
