import type { PrecisionReport } from "@mp/core";
import { isHalf, roundTo } from "@mp/core/graph";
import { html, type Markup } from "./html.js";
import { layerName } from "./layers.js";
import { percent, scaleText, significant } from "./numbers.js";

/** Largest fraction of gradients that a fitting scale turns into 0. */
const MOST_LOST = 0.1;

const BF16 = html`use bfloat16 (<code>mixedBfloat16()</code>)`;

/** Explains why float16 has no loss scale that fits, and what to do; undefined if one fits. */
export function noFittingScale({ groups, gradients }: PrecisionReport): Markup | undefined {
  const { recommendedScale, largest, largestIn, shares } = gradients;
  const forward = groups.find(
    ({ kind, dtype, histogram }) =>
      (kind === "activations" || kind === "weights") && isHalf(dtype) && overflows(histogram.largest),
  );
  if (forward !== undefined) {
    const { kind, layer, histogram } = forward;
    return html`the ${kind} of ${layerName(layer)} reach ${significant(histogram.largest)}, beyond 65504, and a loss scale multiplies gradients only. To do: ${BF16}, rescale the inputs (standardize them), or keep this layer in float32 by its scope`;
  }
  const where = inLayer(largestIn);
  if (overflows(4 * largest)) {
    return html`four times the largest gradient of this batch, ${significant(largest)}${where}, is beyond 65504 at scale 1 already. To do: ${BF16}, rescale the inputs, or take the mean in the loss instead of the sum`;
  }
  const lost = shares.f16.find(({ scale }) => scale === recommendedScale)?.zero ?? 0;
  if (lost <= MOST_LOST) return undefined;
  return html`at ${scaleText(recommendedScale)}, the largest from ${scaleText(1)} to ${scaleText(2 ** 24)} at which four times the largest gradient, ${significant(largest)}${where}, is finite, <b>${percent(lost)}</b> of the gradients are still 0. To do: ${BF16}, rescale the inputs, or keep the layer of the largest gradient in float32 by its scope`;
}

/** The layer of the largest gradient in words, if it is known. */
export const inLayer = (found: PrecisionReport["gradients"]["largestIn"]): Markup | undefined =>
  found && html`, in ${layerName(found.layer)} (${found.kind})`;

const overflows = (number: number): boolean => !Number.isFinite(roundTo("f16", number));
