/** Finds the cause of a step's problem by running the step again: unchanged, in f32, and with possible remedies. */
import { isHalf, leavesOf } from "@mp/graph";
import { castInputs, type Probe } from "@mp/graph/internal";
import { stateTypes } from "../definition/objective-state.js";
import { isValueType } from "../definition/state.js";
import { scaleFault } from "../programs/scale.js";
import type { Finding } from "./advice.js";
import { attributionOf, attributionTo } from "./attribution.js";
import { beyondHalf, notFinite, short } from "./beyond-half.js";
import { findRemedies, MOST_LOST, shareLost } from "./find-remedies.js";
import { type Inspected, type Inspection, type Replay, shareUnchanged } from "./replay.js";

/** Largest fraction of updates that may leave the weights unchanged; a larger one is reported as lost updates. */
export const MOST_UNCHANGED = 0.25;
/** Growth factor of the weights since the start of a run; a larger one is reported as too high a learning rate. */
const GROWTH = 10;
/** Smallest initial size that growth is measured against, and the size assumed for weights that began at 0. */
const [SMALL, FROM_ZERO] = [0.1, 10];
/** Fall of the loss, as a fraction of its first value, beyond which weights may grow. */
const FALLEN = 0.1;
/** Smallest learning rate that is reported as the cause of an update that is not finite. */
const ABSURD = 100;

/** Runs a step again at a scale and finds its problem; undefined if it has none. */
export async function examine(replay: Replay, scale: number): Promise<Finding | undefined> {
  const { lossScaler } = replay.of.definition.precision;
  const fault = scaleFault(lossScaler, scale);
  if (fault !== undefined) {
    const wide = await replay.inF32(1);
    const remedies = wide.culprit === undefined ? await findRemedies(replay, wide) : [];
    const at = attributionTo("scale", lossScaler.name, "scale");
    return { cause: "scale out of range", at, remedies, what: fault };
  }
  const own = await replay.own(scale);
  return own.culprit === undefined ? ofFinite(replay, own) : ofNonFinite(replay, own, own.culprit);
}

async function ofNonFinite(replay: Replay, own: Inspection, culprit: Probe): Promise<Finding> {
  const { of, feed } = replay;
  const at = attributionOf(culprit);
  if (at.phase === "input") {
    if (!Object.hasOwn(feed.inputs, at.value)) return { cause: "parameters", at };
    return { cause: "data", at, what: `the data itself holds ${notFinite(feed.inputs[at.value])}` };
  }
  const wide = await inF32(replay, own);
  const fast = tooFast(of, wide, own.sizes[0]);
  if (fast !== undefined) return { cause: "learning rate", at, what: fast };
  const { dtype } = culprit.value;
  const ofData = isHalf(dtype) ? beyondHalf(feed.inputs, castInputs(own.probes, culprit), dtype) : undefined;
  const data = ofData === undefined ? {} : { what: ofData };
  if (wide.culprit !== undefined) {
    if (ofData !== undefined) return { cause: "model", at, ...data };
    const where = attributionOf(wide.culprit);
    const forward = wide.probes.graph.nodes.find(
      ({ name }) => name === wide.culprit?.node?.origin.forward,
    )?.op;
    if (where.phase !== "update") return { cause: "model", at: where, ...(forward && { forward }) };
    const rate = largestRate(wide.rates);
    if (rate < ABSURD) return { cause: "optimizer", at: where };
    return { cause: "learning rate", at: where, what: `it is ${short(rate)}` };
  }
  const grown = ofData === undefined ? tooFast(of, wide, ...wide.sizes) : undefined;
  if (grown !== undefined) return { cause: "learning rate", at, what: grown };
  const remedies = await findRemedies(replay, wide);
  const cause = remedies[0]?.option === "lossScaler" ? "scale too high" : "half too narrow";
  return { cause, at, remedies, ...data };
}

async function ofFinite(replay: Replay, own: Inspection): Promise<Finding | undefined> {
  const { definition, stateTypes: types } = replay.of;
  const update = attributionTo("update", definition.optimizer.name, "update");
  const fast = tooFast(replay.of, own, ...own.sizes);
  if (fast !== undefined) return { cause: "learning rate", at: update, what: fast };
  const gradients = attributionTo("gradients", "gradient", "backward");
  const wide = await inF32(replay, own);
  const lost = wide.culprit === undefined ? shareLost(own, wide) : 0;
  if (lost > MOST_LOST) {
    const remedies = await findRemedies(replay, wide);
    return { cause: "underflow", at: gradients, remedies, what: percent(lost) };
  }
  if (own.tensors.every((tensor) => tensor.gradients === 0)) return { cause: "no gradient", at: gradients };
  const unchanged = shareUnchanged(own.tensors);
  if (unchanged <= MOST_UNCHANGED) return undefined;
  const masters = leavesOf(stateTypes(definition, types, "master"), isValueType, "master");
  const inHalf = masters.some(([, { dtype }]) => isHalf(dtype));
  const remedies = inHalf ? [{ option: "masterWeights", value: "f32" } as const] : [];
  return { cause: "lost updates", at: update, what: percent(unchanged), remedies };
}

/** Runs the step in f32; returns `own` if the step computes nothing in a half dtype. */
const inF32 = async (replay: Replay, own: Inspection): Promise<Inspection> =>
  own.probes.all.some(({ value }) => isHalf(value.dtype)) ? replay.inF32(1) : own;

/** The fact that shows that the learning rate is far too high; undefined if it does not seem to be. */
function tooFast(of: Inspected, { rates, loss, sizes: [before] }: Inspection, ...sizes: number[]) {
  const rate = largestRate(rates);
  if (!Number.isFinite(rate)) return `it is ${rate}`;
  const { initialSize, firstLoss = 0 } = of;
  const hasFallen = firstLoss - loss > FALLEN * Math.abs(firstLoss);
  const began = hasFallen ? Math.max(initialSize, before) : initialSize;
  const size = Math.max(...sizes);
  if (!(size > GROWTH * Math.max(began === 0 ? FROM_ZERO : began, SMALL))) return undefined;
  return `at ${short(rate)} the weights grow from ${short(began)} to ${short(size)} (root mean square)`;
}

/** The largest rate of all groups; NaN if one is NaN. */
const largestRate = (rates: Inspection["rates"]): number => Math.max(0, ...Object.values(rates));

const percent = (share: number): string => `${Math.round(100 * share)} %`;
