/** The updates that an optimizer or a part of one makes, on the oracle. */
import { type HostTensor, type Tensor, type TensorTree, type Tree, tensor } from "@mp/graph";
import { runTrees } from "../../graph/test/run-traced.js";
import type { GradientTransformation, Optimizer } from "../src/optim/optimizer.js";

export const vector = (numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));
export const numbers = (leaf: HostTensor | undefined): number[] => Array.from(leaf?.data ?? [], Number);

export type HostTree = Tree<HostTensor>;
type Trees = { readonly [name in "gradient" | "state" | "weights"]: TensorTree } & { readonly step: Tensor };

/** The updates a part makes of those gradients, from weights that are the other implementation's at each step. */
export function updatesOf(
  optimizer: Optimizer | GradientTransformation,
  gradients: readonly HostTree[],
  weights: readonly HostTree[],
): readonly HostTree[] {
  let state = runTrees(weights[0] ?? {}, (start) => optimizer.init(start));
  return gradients.map((gradient, step) => {
    const data = { gradient, state, weights: weights[step] ?? {}, step: tensor(Int32Array.of(step), []) };
    const next = runTrees(data, (inputs) => {
      const { gradient, state, weights, step } = inputs as Trees;
      return optimizer.update(gradient, state, weights, { step });
    }) as { readonly updates: HostTree; readonly state: HostTree };
    state = next.state;
    return next.updates;
  });
}
