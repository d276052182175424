import { isHalf } from "../dtype.js";
import type { Graph, Value } from "../graph/graph.js";
import { byteLength } from "../host-tensor.js";
import type { TypeTree } from "../train/program.js";
import { isValueType, type TrainingState } from "../train/state.js";
import { peakLiveBytes, Storages } from "../transform/liveness.js";
import { leavesOf } from "../tree.js";

/** Bytes by what they are for. The kinds are not all there at once, and an engine may hold the state twice. */
export interface MemoryKinds {
  /** Parameters as they are kept and updated, frozen ones included. */
  readonly masters: number;
  /** Their copies in the half, made anew by each step. */
  readonly halfWeights: number;
  readonly optimizer: number;
  readonly modelState: number;
  /** Of one batch. */
  readonly batch: number;
  /** What the forward pass makes and the backward pass reads. */
  readonly activations: number;
  /** Of the parameters, in f32. */
  readonly gradients: number;
}

export interface StepMemory {
  readonly kinds: MemoryKinds;
  /** Most bytes in use at once when the step's nodes run in their order: by the types of its values, not measured. */
  readonly plannedPeak: number;
  /** Most bytes that the engine says it held at once for this run; null where it does not say. */
  readonly measuredPeak: number | null;
}

const kindOfState: Readonly<Record<keyof TrainingState | "window", keyof MemoryKinds | undefined>> = {
  master: "masters",
  frozen: "masters",
  optimizer: "optimizer",
  model: "modelState",
  // A window's sums are gradients too, and are counted with them.
  window: undefined,
  applied: undefined,
  scaler: undefined,
  iteration: undefined,
  drawn: undefined,
  skipped: undefined,
  consecutiveSkips: undefined,
  retries: undefined,
};

/** @param gradients types of the gradients of one step */
export function memoryKinds(graph: Graph, gradients: TypeTree): MemoryKinds {
  const bytes = { masters: 0, optimizer: 0, modelState: 0, batch: 0 } as Record<keyof MemoryKinds, number>;
  for (const { name, value } of graph.inputs) {
    const [tree, part] = name.split("/");
    const kind = tree === "batch" ? "batch" : kindOfState[part as keyof typeof kindOfState];
    if (kind !== undefined) bytes[kind] += byteLength(value);
  }
  const parameters = new Set(
    graph.inputs.filter(({ role }) => role === "parameter").map(({ value }) => value),
  );
  const copies = graph.nodes
    .filter(({ op, inputs }) => op === "Cast" && parameters.has(inputs[0] as Value))
    .flatMap(({ outputs }) => outputs.filter(({ dtype }) => isHalf(dtype)));
  return {
    ...bytes,
    halfWeights: sum(copies),
    activations: sum(keptForBackward(graph, new Set(copies))),
    gradients: sum(leavesOf(gradients, isValueType, "gradients").map(([, type]) => type)),
  };
}

/** Memory of forward values that a node of the backward pass reads, each once. */
function keptForBackward(graph: Graph, copies: ReadonlySet<Value>): readonly Value[] {
  const storages = new Storages(graph);
  const isBackward = new Set(graph.nodes.filter(({ origin }) => origin.phase === "backward"));
  return graph.nodes
    .filter(({ origin }) => origin.phase === "forward" || origin.phase === "loss")
    .flatMap((node) => storages.allocated(node))
    .filter((value) => !copies.has(value) && storages.readers(value).some((node) => isBackward.has(node)));
}

export const plannedPeak = (graph: Graph): number => peakLiveBytes(graph, { outputsHeld: true }).bytes;

const sum = (types: readonly Parameters<typeof byteLength>[0][]): number =>
  types.reduce((total, type) => total + byteLength(type), 0);
