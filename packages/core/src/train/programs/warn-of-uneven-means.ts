import { producers, Tensor } from "@mp/graph";
import { currentBuilder } from "@mp/graph/internal";
import type { TrainingWarning } from "../definition/warning.js";

/** Whether the loss is computed from a mean whose terms have unequal weights, as where some labels are ignored. */
export function hasUnevenMean(loss: Tensor): boolean {
  const builder = currentBuilder("loss");
  const makers = producers(builder);
  const values = new Set([Tensor.valueIn(loss, builder, "loss")]);
  for (const value of values) {
    const maker = makers.get(value);
    // Skips constants: equal numbers share one node, inside and outside of a mean.
    if (maker?.op !== "Constant" && maker?.origin.isUneven === true) return true;
    for (const input of maker?.inputs ?? []) values.add(input);
  }
  return false;
}

/** Warns that a step averages this many losses equally, although different numbers of terms count in them. */
export const unevenMeans = (losses: number): TrainingWarning => ({
  type: "data",
  message: `loss: is a mean over the labels or samples that count in a batch (ignoreIndex, sampleWeights, weights of classes), and a step averages ${losses} of them as if equally much counted in each; return { loss, weight: lossWeight(loss) }, with lossWeight of @mp/nn`,
});
