import type { PrecisionReport } from "@mp/core";
import { shareAtScale } from "@mp/core/report";
import { html, type Markup } from "./html.js";
import { layerName } from "./layers.js";
import { percent, scaleText, significant } from "./numbers.js";

/** Largest fraction of gradients that may underflow at a fitting scale. */
const MOST_LOST = 0.1;

const REMEDY = html`use bfloat16 (<code>mixedBfloat16()</code>), rescale the inputs (standardize them), or keep in float32 what is beyond the range`;

/** Explains why float16 has no loss scale that fits, and what to do; undefined if one fits. */
export function noFittingScale({ gradients }: PrecisionReport): Markup | undefined {
  const { recommendedScale, largest, largestIn, histogram, beyond } = gradients;
  if (recommendedScale === null || beyond !== undefined)
    return html`the ${beyond?.kind} of ${layerName(beyond?.layer ?? "")} reach numbers beyond 65504, and a loss scale multiplies gradients only. To do: ${REMEDY}`;
  const lost = shareAtScale(histogram, "f16", recommendedScale).zero;
  if (lost <= MOST_LOST) return undefined;
  return html`at ${scaleText(recommendedScale)}, the largest at which four times the largest gradient, ${significant(largest)}${inLayer(largestIn)}, is finite, <b>${percent(lost)}</b> of the gradients are still 0. To do: ${REMEDY}`;
}

/** The layer of the largest gradient in words, if it is known. */
export const inLayer = (found: PrecisionReport["gradients"]["largestIn"]): Markup | undefined =>
  found && html`, in ${layerName(found.layer)} (${found.kind})`;
