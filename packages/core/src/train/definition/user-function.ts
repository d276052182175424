import type { BackendManifest, TensorTree } from "@mp/graph";
import { atUserLines, notePaths } from "@mp/graph/internal";
import { autocast } from "../../cast/autocast.js";
import type { Precision } from "../../precision/presets.js";
import { recipeAt } from "../../quantize/recipes-by-step.js";
import type { LossContext } from "./loss.js";
import { tellingNames } from "./missing-name.js";

/** A user's function for `predict` or metrics, without static types of its trees. */
export type PredictFunction = (
  parameters: TensorTree,
  data: TensorTree,
  context: LossContext<TensorTree>,
) => TensorTree;

/**
 * Binds the function to a context and a precision. Errors name the user's line and, if a name is missing, the
 * names that the data has.
 * @param what the name of the data in messages: `the batch`
 */
export function underPolicy(
  fn: PredictFunction,
  what: string,
  context: LossContext<TensorTree>,
  {
    precision: { policy, recipe },
    manifest,
  }: { readonly precision: Precision; readonly manifest: BackendManifest },
): (parameters: TensorTree, data: TensorTree) => TensorTree {
  return autocast(
    (parameters: TensorTree, data: TensorTree) => {
      notePaths(parameters);
      return tellingNames(what, data, () => atUserLines(() => fn(parameters, data, context)));
    },
    policy,
    // A model that is served after its training has the last recipe.
    { manifest, recipe: recipeAt(recipe, Number.POSITIVE_INFINITY), key: context.key },
  );
}
