import type { PrecisionReport } from "@mp/core";
import { html, type Markup } from "../html.js";
import { layerName } from "../layers.js";
import { inLayer } from "../no-fitting-scale.js";
import { percent, powerOfTwo, scaleText, significant } from "../numbers.js";

/** Sums up the report in sentences. `misfit` explains why no loss scale fits, if so. */
export function findings(report: PrecisionReport, misfit: Markup | undefined): readonly (Markup | string)[] {
  return [lossOfRange(report), recommendation(report, misfit), bf16(report), notFinite(report)].filter(
    (finding) => finding !== undefined,
  );
}

const names = { f16: "float16", bf16: "bfloat16" } as const;

function lossOfRange({ gradients: { shares }, half, usesHalf, scale }: PrecisionReport): Markup {
  const [first] = shares.f16;
  const used = shares.f16.find((share) => share.scale === scale);
  const now =
    half !== "f16" || !usesHalf || used === undefined || scale === 1
      ? undefined
      : html` At the scale of the next step, ${scaleText(scale)}, it is <b>${percent(used.zero)}</b> and <b>${percent(used.subnormal)}</b>${used.overflow > 0 ? html`, and <b>${percent(used.overflow)}</b> overflow` : undefined}.`;
  return html`Without loss scaling, float16 would turn <b>${percent(first?.zero ?? 0)}</b> of the gradients into 0 and keep <b>${percent(first?.subnormal ?? 0)}</b> with fewer digits.${now}`;
}

function recommendation({ gradients, half, usesHalf }: PrecisionReport, misfit: Markup | undefined): Markup {
  const { recommendedScale, largest, largestIn } = gradients;
  if (misfit !== undefined) return html`<b>No loss scale fits</b> float16: ${misfit}.`;
  if (largest === 0) return html`All gradients of this batch are 0: it tells of no loss scale.`;
  const at = gradients.shares.f16.find(({ scale }) => scale === recommendedScale);
  return html`Recommended loss scale${usesHalf && half === "f16" ? undefined : " for float16"}: <b>${scaleText(recommendedScale)}</b> (${recommendedScale.toLocaleString("en")}), the largest power of two from ${powerOfTwo(0)} to ${powerOfTwo(24)} at which four times the largest gradient of this batch, ${significant(largest)}${inLayer(largestIn)}, is still finite. <b>${percent(at?.zero ?? 0)}</b> of the gradients are then 0, <b>${percent(at?.subnormal ?? 0)}</b> subnormal.`;
}

function bf16({ gradients: { shares } }: PrecisionReport): Markup {
  const [first] = shares.bf16;
  return html`bfloat16 has float32's range and needs no scale: ${percent(first?.zero ?? 0)} of the gradients become 0 and ${percent(first?.overflow ?? 0)} overflow at scale 1.`;
}

function notFinite({ groups, half }: PrecisionReport): Markup | undefined {
  const found = groups.filter(({ histogram: { infinities, nans } }) => infinities + nans > 0);
  const [first] = found;
  if (first === undefined) return undefined;
  return html`<b>Infinities or NaN</b> are in ${found.length} groups of values even in float32 at scale 1, first among the ${first.kind} of ${layerName(first.layer)}: no ${names[half]} and no loss scale made them.`;
}
