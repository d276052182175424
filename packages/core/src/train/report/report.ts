import { type Graph, type HalfDType, isHalf, leavesOf, type RunInput, roundTo, tensor } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import type { CastReport } from "../../cast/explain.js";
import { lowDType, mixedFloat16Policy } from "../../cast/policy.js";
import type { Recipe } from "../../quantize/recipe.js";
import type { FlatBatch } from "../batch/batch.js";
import { runOnce } from "../compile/compiled-programs.js";
import type { TensorUpdates } from "../definition/result.js";
import { isValueType } from "../definition/state.js";
import { type Diagnosis, diagnoseReplay } from "../diagnosis/diagnose.js";
import { Replay } from "../diagnosis/replay.js";
import { gradientsProgram } from "../programs/step-programs.js";
import { countGraph } from "./counts/count-graph.js";
import { addHistograms, buildHistogram, type ExponentHistogram, ROW } from "./counts/exponent-counts.js";
import { SCALE, type ValueGroup } from "./counts/value-groups.js";
import { memoryKinds, type StepMemory } from "./memory-kinds.js";
import { optimizerState, type StateTensor } from "./optimizer-state.js";
import { planPeak } from "./plan-memory.js";
import { type MeasuredParts, type RecipeReport, recipeReports } from "./recipe-report.js";
import { recommendScale, type ScaleShare, scaleShares } from "./scale-shares.js";

/** Values of one kind in one layer and dtype, counted by exponent. */
export interface GroupHistogram extends ValueGroup {
  readonly histogram: ExponentHistogram;
}

/** The ranges of a step's values, and how well a half dtype represents them: plain JSON-serializable data. */
export interface PrecisionReport {
  readonly backend: string;
  readonly engine: { readonly name: string; readonly version: string };
  /** The precision's name. */
  readonly precision: string;
  /** The half dtype that values are counted in: the policy's, or f16 as in `mixedFloat16` if the policy has none. */
  readonly half: HalfDType;
  /** Whether the run itself computes in that half dtype. */
  readonly usesHalf: boolean;
  /** The loss scale of the next step. */
  readonly scale: number;
  /** Groups in the order of the step; gradients follow from the loss backwards. */
  readonly groups: readonly GroupHistogram[];
  readonly gradients: GradientRange;
  /** Counts of gradients and updates by tensor, for the next step on this batch. */
  readonly updates: readonly TensorUpdates[];
  /** The diagnosis of that step; null if it has no problem. */
  readonly diagnosis: Diagnosis | null;
  readonly optimizer: {
    /** True if the optimizer state is sharded, and these tensors are only one rank's part of it. */
    readonly isShare: boolean;
    /** Tensors, first those with the most elements flushed or below the normal range of their format. */
    readonly tensors: readonly StateTensor[];
  };
  /** The dtype of each operator, and why; statistics of the operands that the run's recipe quantizes. */
  readonly casts: CastReport;
  /** What the run's recipe, if it has one, and the recipes asked for do to the operands of products. */
  readonly recipes: readonly RecipeReport[];
  readonly memory: StepMemory;
}

/** Underflow and overflow, by loss scale, of all gradients in a half dtype, also those of weights. */
export interface GradientRange {
  /** The gradients that are in a half dtype; all gradients if none are. */
  readonly histogram: ExponentHistogram;
  readonly shares: Readonly<Record<HalfDType, readonly ScaleShare[]>>;
  /**
   * For f16: the largest power of two up to 2^24 at which four times the largest gradient of this batch is
   * finite, or a larger one if too many gradients would be 0 at that scale. Null if no scale helps because of
   * `beyond`. bf16 has f32's range and needs no scale.
   */
  readonly recommendedScale: number | null;
  /** The first weights or activations in the half dtype that exceed the range of f16; undefined if none do. */
  readonly beyond: ValueGroup | undefined;
  /** The largest magnitude at scale 1, which decides the scale, and its layer; 0 and undefined if all are 0. */
  readonly largest: number;
  readonly largestIn: ValueGroup | undefined;
}

export interface ReportOptions {
  /**
   * Recipes to measure besides the run's own, each as if the run had it: `[mxfp8().recipe]`. They take the products that
   * the run's own takes, and must not have delayed scaling.
   */
  readonly recipes?: readonly Recipe[];
}

export interface ReportParts extends MeasuredParts {
  /** The graph of the step that the engine gets. */
  readonly step: Graph;
}

/** Runs one batch forward and backward at scale 1 in f32 on the engine and counts the values; changes no state. */
export async function precisionReport(
  parts: ReportParts,
  feed: FlatBatch,
  recipes: readonly Recipe[],
): Promise<PrecisionReport> {
  const { programs, definition, stateTypes, step, scale } = parts;
  const { precision } = definition;
  const own = lowDType(precision.policy);
  // If the engine lacks f16, there is no plan for f16, and no value is reported as kept in a half dtype.
  const hasF16 = unsupportedReason(definition.manifest.dtypes.f16) === undefined;
  const policy = own === undefined && hasF16 ? mixedFloat16Policy : precision.policy;
  const program = gradientsProgram(
    { ...definition, precision: { ...precision, policy } },
    stateTypes,
    feed.types(),
  );
  const { graph, groups: found, rows } = countGraph(program.graph);
  const counting = {
    ...program,
    graph,
    bindings: program.bindings.map(({ slot, input }) => ({ slot, input })),
  };
  const inputs: Readonly<Record<string, RunInput>> = {
    ...feed.inputs,
    [SCALE]: tensor(Float32Array.of(1), []),
  };
  const counts = await runOnce(programs.backend, counting, inputs, programs.state);
  const all = counts["rows"]?.data as Float32Array;
  const row = (place: number): Float32Array => all.subarray(place * ROW, (place + 1) * ROW);
  const groups = found.map((group, index): GroupHistogram => {
    const own = rows.flatMap((of, place) => (of === index ? [place] : []));
    const largest = own.map((place) => Number(counts["largest"]?.data[place]));
    return { ...group, histogram: buildHistogram(own.map(row), largest) };
  });
  const replay = new Replay(parts, feed, 0);
  const next = await replay.own(scale);
  const diagnosis = await diagnoseReplay(replay, scale);
  const types = program.outputs["gradients"] ?? {};
  const paths = new Set(leavesOf(types, isValueType, "gradients").map(([path]) => path));
  const tensors = await optimizerState(parts, paths);
  const kinds = memoryKinds(step, types);
  const saved = tensors.reduce((sum, { bytes, bytesInF32 }) => sum + bytesInF32 - bytes, 0);
  return {
    backend: programs.backend.name,
    engine: programs.backend.manifest.engine,
    precision: precision.name,
    half: own ?? "f16",
    usesHalf: own !== undefined,
    scale,
    groups,
    gradients: gradientRange(groups),
    updates: next.tensors,
    diagnosis: diagnosis ?? null,
    optimizer: { isShare: definition.shard !== undefined, tensors },
    ...(await recipeReports(parts, feed, recipes)),
    memory: {
      kinds,
      optimizerInF32: kinds.optimizer + saved,
      plannedPeak: planPeak(step, definition.manifest),
      measuredPeak: programs.peakBytes() ?? null,
    },
  };
}

function gradientRange(groups: readonly GroupHistogram[]): GradientRange {
  const all = groups.filter(({ kind }) => kind === "gradients" || kind === "weight gradients");
  const held = all.filter(({ dtype }) => isHalf(dtype));
  // A policy that lowers nothing still has gradients to report.
  const looked = held.length > 0 ? held : all;
  const histogram = addHistograms(looked.map((group) => group.histogram));
  const widest = looked.find((group) => group.histogram.largest === histogram.largest);
  const beyond = groups.find(isBeyondF16);
  const isZero = widest === undefined || histogram.largest === 0;
  return {
    histogram,
    shares: { f16: scaleShares(histogram, "f16"), bf16: scaleShares(histogram, "bf16") },
    recommendedScale: beyond === undefined ? recommendScale(histogram, "f16") : null,
    beyond: beyond && withoutHistogram(beyond),
    largest: histogram.largest,
    largestIn: isZero ? undefined : withoutHistogram(widest),
  };
}

/** Whether forward values that the policy holds in a half dtype are infinite in f16. */
const isBeyondF16 = ({ kind, dtype, histogram }: GroupHistogram): boolean =>
  (kind === "activations" || kind === "weights") &&
  isHalf(dtype) &&
  !Number.isFinite(roundTo("f16", histogram.largest));

function withoutHistogram({ histogram: _histogram, ...group }: GroupHistogram): ValueGroup {
  return group;
}
