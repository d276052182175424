import { elementCount, mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { tensorsOf } from "@mp/graph/internal";
import { and, cast, equal, literal, mul, not, reduceSum, sqrt } from "@mp/graph/ops";
import { sumOfSquares } from "../../optim/global-norm.js";
import type { StepDefinition } from "../definition/definition.js";
import { selectMasters } from "./move-masters.js";

/**
 * Counts nonzero gradients, nonzero updates, and nonzero updates that leave the master weight unchanged, as f32 scalars
 * by trained tensor. Also returns the root mean square of all weights before and after. If the update is sharded,
 * counts this process's part.
 */
export function countUpdates(
  definition: StepDefinition,
  {
    gradients,
    updates,
    master,
    next,
  }: Readonly<Record<"gradients" | "updates" | "master" | "next", TensorTree>>,
): TensorTree {
  const [before, after] = [selectMasters(definition, master), selectMasters(definition, next)];
  const isKept = definition.precision.masterWeights.keepsSmallUpdates === true;
  const counted = (tree: TensorTree): TensorTree => mapTensors((leaf) => count(notZero(leaf)), tree);
  const unchanged = (update: Tensor, was: Tensor, is: Tensor): Tensor =>
    isKept ? literal(0) : count(and(notZero(update), equal(was, is)));
  return {
    gradients: counted(gradients),
    updates: counted(updates),
    lost: mapTensors(unchanged, updates, before, after),
    before: rootMeanSquare(before),
    after: rootMeanSquare(after),
  };
}

/** True for NaN too. */
const notZero = (x: Tensor): Tensor => not(equal(x, 0));

/** Counts by the last axis first: a sum of ones in f32 is exact only up to 2^24. */
function count(which: Tensor): Tensor {
  const ones = cast(which, "f32");
  return reduceSum(ones.shape.length > 1 ? reduceSum(ones, { axes: [ones.shape.length - 1] }) : ones);
}

function rootMeanSquare(tree: TensorTree): Tensor {
  const elements = tensorsOf(tree).reduce((sum, { shape }) => sum + elementCount(shape, "update"), 0);
  return sqrt(mul(sumOfSquares(tree), 1 / Math.max(1, elements)));
}
