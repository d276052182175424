/**
 * Searches for changes of a precision under which a step is finite and few of its gradients underflow. Each candidate
 * is tried on the step itself, so advice has worked at least once.
 */
import { floatFormats, type Op, opTable } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import {
  type CastingPolicy,
  type CastingPolicyChanges,
  float32Policy,
  isPure,
  lowDType,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "../../cast/policy.js";
import type { Remedy } from "./remedies.js";
import type { Inspection, Replay, RunAt } from "./replay.js";

/** Largest fraction of gradients that may underflow at a scale that counts as fitting. */
export const MOST_LOST = 0.1;
/** Largest fraction of underflow at which the search does not try a higher scale. */
const HARDLY_LOST = 0.01;
/** Exponents of the lowest and highest scale tried, and of the scaler's default, which is preferred. */
const [LOWEST, HIGHEST, USUAL] = [-100, 100, 16];
/** Headroom in powers of two above gradients, since batches differ, and above forward values, which are not scaled. */
const [ROOM, FORWARD_ROOM] = [3, 6];

/** Fraction of the gradients that are not 0 in f32 and are 0 in the half dtype. */
export function shareLost({ tensors }: Inspection, wide: Inspection): number {
  const inF32 = new Map(wide.tensors.map(({ parameter, gradients }) => [parameter, gradients]));
  let [total, lost] = [0, 0];
  for (const { parameter, gradients } of tensors) {
    const wanted = inF32.get(parameter) ?? 0;
    total += wanted;
    lost += Math.max(0, wanted - gradients);
  }
  return total === 0 ? 0 : lost / total;
}

/** A scale with headroom at which few gradients underflow; undefined if there is none. */
async function fittingScale(run: RunAt, wide: Inspection): Promise<number | undefined> {
  const fits = async (exponent: number) => (await run(2 ** exponent)).culprit === undefined;
  if (!(await fits(LOWEST))) return undefined;
  let [low, high] = [LOWEST, HIGHEST];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await fits(middle)) low = middle;
    else high = middle;
  }
  const highest = 2 ** (low - ROOM);
  for (const [scale, most] of [
    [Math.min(2 ** USUAL, highest), HARDLY_LOST],
    [highest, MOST_LOST],
  ] as const)
    if (shareLost(await run(scale), wide) <= most) return scale;
  return undefined;
}

/**
 * Tries remedies, the smallest change first: another scale, operators in f32, bfloat16, float32.
 * @param wide the step in f32, which must be finite
 */
export async function findRemedies(replay: Replay, wide: Inspection): Promise<readonly Remedy[]> {
  const { policy } = replay.of.definition.precision;
  if (!isPure(policy)) {
    const scale = await fittingScale(replay.own, wide);
    if (scale !== undefined) return [scalerRemedy(scale)];
  }
  for (const [remedies, under] of candidates(replay, wide)) {
    const scale = await replay.under(under, (run) => fittingScale(run, wide));
    if (scale === undefined) continue;
    if (lowDType(under) === "f16") return [...remedies, scalerRemedy(scale)];
    if (scale >= 1) return remedies;
  }
  return [];
}

/** Dynamic loss scaling from this scale. Below 2^8, `minScale` lets it back off eight times; its default is 1. */
function scalerRemedy(scale: number): Remedy {
  const bound = scale < 2 ** 8 ? { minScale: scale * 2 ** -8 } : {};
  return { option: "lossScaler", value: { initialScale: scale, ...bound } };
}

type Candidate = readonly [readonly Remedy[], CastingPolicy];
const presets: Readonly<Record<"float16" | "bfloat16" | "float32", Candidate>> = {
  float16: [[{ option: "precision", value: "mixedFloat16" }], mixedFloat16Policy],
  bfloat16: [[{ option: "precision", value: "mixedBfloat16" }], mixedBfloat16Policy],
  float32: [[{ option: "precision", value: "float32" }], float32Policy],
};

function candidates({ of: { definition } }: Replay, wide: Inspection): readonly Candidate[] {
  const { policy } = definition.precision;
  const low = lowDType(policy);
  // A pure policy is first replaced by the mixed one.
  const mixed = isPure(policy) ? [presets[low === "f16" ? "float16" : "bfloat16"]] : [];
  const [before, base] = mixed[0] ?? [[], policy];
  const value = beyondRange(wide);
  const hasBf16 = low === "f16" && unsupportedReason(definition.manifest.dtypes.bf16) === undefined;
  return [
    ...mixed,
    ...(low === undefined ? [] : [[[...before, { option: "policy", value }], base.with(value)] as const]),
    ...(hasBf16 ? [presets.bfloat16] : []),
    presets.float32,
  ];
}

/** Overrides to f32 for forward operators that read or produce numbers near or beyond the range of float16. */
function beyondRange({ probes: { all, graph }, largest }: Inspection): CastingPolicyChanges {
  const limit = floatFormats.f16.maxFinite * 2 ** -FORWARD_ROOM;
  const beyond = new Set(all.filter((_, at) => Number(largest[at]) > limit).map(({ value }) => value));
  const scopes = new Map<string, { [K in Op]?: "f32" }>();
  for (const { op, origin, inputs, outputs } of graph.nodes) {
    const isForward = origin.phase === "forward" || origin.phase === "loss";
    // Other categories are in f32 already, or keep the dtype that the user wrote.
    const isLow = !["fixed", "deny", "f32"].includes(opTable[op].cast.f16);
    if (isForward && isLow && [...inputs, ...outputs].some((value) => beyond.has(value)))
      scopes.set(origin.scope, { ...scopes.get(origin.scope), [op]: "f32" });
  }
  const { "": ops = {}, ...rest } = Object.fromEntries(scopes);
  return { ops, ...(Object.keys(rest).length === 0 ? {} : { scopes: rest }) };
}
