import type { BackendManifest, TensorTree } from "@mp/graph";
import { atUserLines, notePaths } from "@mp/graph/internal";
import { autocast } from "../../cast/autocast.js";
import type { CastingPolicy } from "../../cast/policy.js";
import type { LossContext } from "./loss.js";
import { tellingNames } from "./missing-name.js";

/** A user's function for `predict` or metrics, without static types of its trees. */
export type PredictFunction = (
  parameters: TensorTree,
  data: TensorTree,
  context: LossContext<TensorTree>,
) => TensorTree;

/**
 * Binds the function to a context and a casting policy. Errors name the user's line and, if a name is missing, the
 * names that the data has.
 * @param what the name of the data in messages: `the batch`
 */
export function underPolicy(
  fn: PredictFunction,
  what: string,
  context: LossContext<TensorTree>,
  { policy, manifest }: { readonly policy: CastingPolicy; readonly manifest: BackendManifest },
): (parameters: TensorTree, data: TensorTree) => TensorTree {
  return autocast(
    (parameters: TensorTree, data: TensorTree) => {
      notePaths(parameters);
      return tellingNames(what, data, () => atUserLines(() => fn(parameters, data, context)));
    },
    policy,
    { manifest },
  );
}
