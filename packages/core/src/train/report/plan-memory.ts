/** Plans the memory of a training step on an engine from its graph; nothing is compiled or run. */

import {
  type AnyNode,
  type BackendManifest,
  emulateHalves,
  expandAttentions,
  type Graph,
  type HalfDType,
  peakLiveBytes,
  type Value,
} from "@mp/graph";
import { checks, totalBytes } from "@mp/graph/internal";
import { widenSums } from "../../cast/widen-sums.js";
import type { Precision } from "../../precision/presets.js";
import { type MemoryKinds, memoryKinds } from "./memory-kinds.js";

/** The engine, and how the step runs. */
export interface PlannedStep {
  readonly manifest: BackendManifest;
  readonly precision: Precision;
}

export interface PlannedMemory {
  readonly kinds: MemoryKinds;
  /** Bytes kept between steps: masters, optimizer state, model state, counters. */
  readonly state: number;
  /**
   * Peak bytes of all tensors, including the batch, the old and the new state. Workspace of the engine's kernels, its
   * code and its graph are not included.
   */
  readonly peak: number;
}

/**
 * Estimates the memory of a step from its graph, which `training.graph(batch)` gives for a batch of any size. With
 * `accumulate` the estimate is for the whole step, whose microbatches are such batches.
 * @example planMemory(training.graph(batch), { manifest: backend.manifest, precision: training.precision }).peak
 */
export function planMemory(graph: Graph, step: PlannedStep): PlannedMemory {
  checks.object("planMemory: the graph", graph);
  checks.object("planMemory: the step", step);
  const { manifest, precision } = step;
  const { weightsAt } = precision.masterWeights;
  const masters = weightsAt === undefined ? "state/master/" : `state/master/${weightsAt}/`;
  const trained = graph.inputs.filter(({ name }) => name.startsWith(masters));
  const gradients = Object.fromEntries(
    trained.map(({ value }, index) => [String(index), { dtype: "f32" as const, shape: value.shape }]),
  );
  const state = totalBytes(findStates(graph));
  const peak = planPeak(graph, manifest);
  return { kinds: memoryKinds(graph, gradients), state, peak };
}

/** Peak bytes of a step with this graph on an engine with this manifest. */
export function planPeak(graph: Graph, manifest: BackendManifest): number {
  // Engines compute attention as products and a softmax, whose results are as large as all probabilities.
  const run = emulateHalves(widenSums(expandAttentions(graph), manifest), findEmulated(manifest));
  const isEarly = manifest.nextState !== "as-computed";
  const reusesShapes = manifest.intermediates === "kept-for-its-shape";
  const peak = peakLiveBytes(run, { outputsHeld: isEarly, workspace, reusesShapes }).bytes;
  const unwritten = totalBytes(unwrittenStates(graph));
  if (unwritten === 0) return peak;
  // A window of microbatches ends with a program that replaces the rest of the state.
  return isEarly ? peak + unwritten : Math.max(peak, 2 * totalBytes(findStates(graph)));
}

/** Temporary arrays of `RandomBits` in multiples of the result: Squares32 has five of 64 bits, each twice its size. */
const ARRAYS_BESIDE_BITS = 9;

const workspace = ({ op, outputs }: AnyNode): number =>
  op === "RandomBits" ? ARRAYS_BESIDE_BITS * totalBytes(outputs) : 0;

const findEmulated = ({ dtypes }: BackendManifest): readonly HalfDType[] =>
  (["f16", "bf16"] as const).filter((half) => {
    const support = dtypes[half];
    return "storage" in support && support.storage === "f32";
  });

const findStates = (graph: Graph): readonly Value[] =>
  graph.inputs.flatMap(({ name, value }) => (name.startsWith("state/") ? [value] : []));

/** State that only another program writes; frozen parameters, which no program writes, do not count. */
function unwrittenStates(graph: Graph): readonly Value[] {
  if (!graph.inputs.some(({ name }) => name.startsWith("state/window/"))) return [];
  return graph.inputs.flatMap(({ name, value }) =>
    /^state\/(?!window\/|frozen\/)/.test(name) ? [value] : [],
  );
}
