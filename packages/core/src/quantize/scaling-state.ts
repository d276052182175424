/**
 * Delayed scaling: the scales of a step follow from the largest magnitudes of the steps before it. They are state of the
 * run, kept for each parameter of two or more axes: for the input, the weight and the gradient of its products.
 */
import {
  floatFormats,
  isTensor,
  leavesOf,
  mapTree,
  ones,
  type Tensor,
  type TensorTree,
  tensor,
  zeros,
} from "@mp/graph";
import {
  and,
  concat,
  constant,
  div,
  greater,
  lessOrEqual,
  maximum,
  minimum,
  reduceMax,
  reshape,
  slice,
  where,
} from "@mp/graph/ops";
import type { DelayedScaling } from "./delayed-scaling.js";
import { elementFormats } from "./element-format.js";
import { OPERAND_ROLES, type RecipeFacts } from "./recipe-facts.js";

/** State of delayed scaling, each part in the structure of the parameters; empty without it. */
export type ScalingState = {
  /** f32 [steps, 3]: largest magnitudes of input, weight and gradient; the first row is free for the next step. */
  readonly history: TensorTree;
  /** f32 [3]: the factors by which the next step multiplies before it rounds. */
  readonly scale: TensorTree;
};

/** A function that finds a leaf by its path. */
function leafAt(tree: TensorTree): (path: string) => Tensor {
  const found = new Map(leavesOf(tree, isTensor, "scaling"));
  return (path) => found.get(path) as Tensor;
}

const ROLES = OPERAND_ROLES.length;

const isMatrix = ({ shape }: Tensor): boolean => shape.length > 1;

const forMatrices = (parameters: TensorTree, of: () => Tensor): TensorTree =>
  mapTree(parameters, isTensor, (leaf) => (isMatrix(leaf) ? of() : {})) as TensorTree;

export function initialScaling(parameters: TensorTree, { history }: DelayedScaling): TensorTree {
  return {
    history: forMatrices(parameters, () => constant(zeros([history, ROLES]))),
    scale: forMatrices(parameters, () => constant(ones([ROLES]))),
  };
}

/**
 * The state after a step, by TransformerEngine's rule: the history moves by one step; a magnitude of 0, ∞ or NaN leaves
 * the scale as it was.
 * @param amax f32 [3] for each parameter with a history: the step's largest magnitudes
 */
export function nextScaling(
  state: TensorTree,
  amax: TensorTree,
  { rules, scaling }: RecipeFacts,
): TensorTree {
  if (scaling === undefined) return state;
  const { history, scale } = state as ScalingState;
  const most = OPERAND_ROLES.map(
    (role) => elementFormats[rules[role].format].maxFinite * 2 ** -scaling.margin,
  );
  const bounds = constant(tensor(Float32Array.from(most), [ROLES]));
  const seen = leafAt(amax);
  const past = leafAt(history);
  const chosen = (path: string): Tensor => {
    const now = seen(path);
    return scaling.algorithm === "most_recent" ? now : maximum(reduceMax(past(path), { axes: [0] }), now);
  };
  return {
    history: mapTree(history, isTensor, (before, path) => {
      const empty = constant(zeros([1, ROLES]));
      if (scaling.history === 1) return empty;
      const row = reshape(seen(path), [1, ROLES]);
      return scaling.history === 2
        ? concat([empty, row])
        : concat([empty, slice(before, [{ axis: 0, start: 2 }]), row]);
    }) as TensorTree,
    scale: mapTree(scale, isTensor, (before, path) => {
      const largest = chosen(path);
      const isUsable = and(greater(largest, 0), lessOrEqual(largest, floatFormats.f32.maxFinite));
      return where(isUsable, minimum(div(bounds, largest), floatFormats.f32.maxFinite), before);
    }) as TensorTree,
  };
}

/** Pairs each parameter that has factors with them, for `autocast`. */
export function pairEncodes(
  scale: TensorTree,
  parameters: TensorTree,
): readonly (readonly [parameter: Tensor, encodes: Tensor])[] {
  const parameter = leafAt(parameters);
  return leavesOf(scale, isTensor, "scaling").map(([path, encodes]) => [parameter(path), encodes] as const);
}

/** The factors in a run's state; an empty tree without delayed scaling. */
export const scaleIn = (state: TensorTree): TensorTree => (state as Partial<ScalingState>).scale ?? {};
