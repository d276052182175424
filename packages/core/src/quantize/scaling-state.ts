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
import { leafAt } from "@mp/graph/internal";
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

const ROLES = OPERAND_ROLES.length;

const tensorAt = (tree: TensorTree, path: string): Tensor => leafAt(tree, path) as Tensor;

const forMatrices = (parameters: TensorTree, of: () => Tensor): TensorTree =>
  mapTree(parameters, isTensor, ({ shape }) => (shape.length > 1 ? of() : {})) as TensorTree;

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
  return {
    history: mapTree(history, isTensor, (before, path) => {
      const kept = scaling.history > 2 ? [slice(before, [{ axis: 0, start: 2 }])] : [];
      const rows = [constant(zeros([1, ROLES])), ...kept, reshape(tensorAt(amax, path), [1, ROLES])];
      return concat(rows.slice(0, scaling.history));
    }) as TensorTree,
    scale: mapTree(scale, isTensor, (before, path) => {
      const now = tensorAt(amax, path);
      const isRecent = scaling.algorithm === "most_recent";
      const largest = isRecent ? now : maximum(reduceMax(tensorAt(history, path), { axes: [0] }), now);
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
  const leaves = leavesOf(scale, isTensor, "scaling");
  return leaves.map(([path, encodes]) => [tensorAt(parameters, path), encodes] as const);
}

/** The factors in a run's state; an empty tree without delayed scaling. */
export const scaleIn = (state: TensorTree): TensorTree => (state as Partial<ScalingState>).scale ?? {};
