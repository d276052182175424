import type { BackendManifest, TensorTree } from "@mp/graph";
import { atUserLines, notePaths } from "@mp/graph/internal";
import { autocast } from "../../cast/autocast.js";
import type { CastingPolicy } from "../../cast/policy.js";
import type { LossContext } from "./loss.js";
import { tellingNames } from "./missing-name.js";

/** A user's function that is no loss, of parameters, data and context. */
export type PredictFunction = (
  parameters: TensorTree,
  data: TensorTree,
  context: LossContext<TensorTree>,
) => TensorTree;

/**
 * The function in that context under a casting policy. Its errors name the user's line, and what the data has where a
 * name is missing.
 * @param what the data in messages: `the batch`
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
