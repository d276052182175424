/**
 * Mixed precision by hand, as the MXNet talk shows it: cast the network to the half dtype, cast the data, cast the
 * logits back before the softmax. Normalizations keep their parameters and statistics in float32.
 */
import { type HalfDType, isTensor, type Tensor, type Tree } from "@mp/core";
import { cast } from "@mp/core/ops";
import type { Model } from "@mp/nn";

/** Casts a network as `net.cast(dtype)` does, with the two casts around it. */
export function castNetwork(model: Model, dtype: HalfDType): Model {
  return {
    ...model,
    apply: (parameters, x, context) => {
      const [logits, state] = model.apply(castParameters(parameters, dtype), cast(x, dtype), context);
      return [cast(logits, "f32"), state];
    },
  };
}

/** Casts the parameters of layers with a kernel; a normalization has none. */
function castParameters(tree: Tree<Tensor>, dtype: HalfDType): Tree<Tensor> {
  if (isTensor(tree)) return tree;
  const isLayer = "kernel" in tree;
  const change = (part: Tree<Tensor>): Tree<Tensor> =>
    isLayer ? cast(part as Tensor, dtype) : castParameters(part, dtype);
  if (Array.isArray(tree)) return (tree as readonly Tree<Tensor>[]).map(change);
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, change(part)]));
}
