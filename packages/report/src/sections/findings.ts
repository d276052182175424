import type { PrecisionReport } from "@mp/core";
import { shareAtScale, shareUnchanged } from "@mp/core/report";
import { html, type Markup } from "../html.js";
import { layerName } from "../layers.js";
import { inLayer } from "../no-fitting-scale.js";
import { percent, powerOfTwo, scaleText, significant } from "../numbers.js";

/** Sums up the report in sentences. `misfit` explains why no loss scale fits; undefined if one does. */
export function findings(report: PrecisionReport, misfit: Markup | undefined): readonly (Markup | string)[] {
  return [
    nextStep(report),
    lossOfRange(report),
    recommendation(report, misfit),
    bf16(report),
    notFinite(report),
    ofUpdates(report),
  ].filter((finding) => finding !== undefined);
}

/** The diagnosis of the next step; undefined if it has no problem. */
const nextStep = ({ diagnosis }: PrecisionReport): Markup | undefined =>
  diagnosis === null
    ? undefined
    : html`The next step on this batch: <b>${diagnosis.cause}</b>, ${diagnosis.because}. To do: ${diagnosis.remedy}.`;

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
  if (misfit !== undefined || recommendedScale === null)
    return html`<b>No loss scale fits</b> float16: ${misfit}.`;
  if (largest === 0) return html`All gradients of this batch are 0: it tells of no loss scale.`;
  const at = shareAtScale(gradients.histogram, "f16", recommendedScale);
  return html`Recommended loss scale${usesHalf && half === "f16" ? undefined : " for float16"}: <b>${scaleText(recommendedScale)}</b> (${recommendedScale.toLocaleString("en")}), ${recommendedScale > 2 ** 24 ? "a" : "the largest"} power of two${recommendedScale > 2 ** 24 ? undefined : html` up to ${powerOfTwo(24)}`} at which four times the largest gradient of this batch, ${significant(largest)}${inLayer(largestIn)}, is still finite. <b>${percent(at.zero)}</b> of the gradients are then 0, <b>${percent(at.subnormal)}</b> subnormal.`;
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

/** The fraction of the next step's updates that are lost, and the parameters whose gradients are all 0. */
function ofUpdates({ updates }: PrecisionReport): Markup {
  const idle = updates.filter(({ gradients }) => gradients === 0).map(({ parameter }) => parameter);
  return html`Of the updates of the next step that are not 0, <b>${percent(shareUnchanged(updates))}</b> leave the weight as it was, because they are below its precision.${idle.length === 0 ? undefined : html` All gradients are 0 in ${idle.slice(0, 8).join(", ")}${idle.length > 8 ? ` and ${idle.length - 8} more` : ""}.`}`;
}
