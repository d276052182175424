import { byteLength, type Graph, isHalf, leavesOf, type Value } from "@mp/graph";
import { Storages, totalBytes } from "@mp/graph/internal";
import { isValueType } from "../definition/state.js";
import type { TypeTree } from "../definition/traced-program.js";

/** Bytes by purpose. Not all kinds are live at once, and an engine may store the state twice. */
export interface MemoryKinds {
  /** Parameters as they are stored and updated, including frozen ones. */
  readonly masters: number;
  /** Bytes of the copies in the half dtype, which each step makes. */
  readonly halfWeights: number;
  /** Bytes of the optimizer's state and of the moving average of the weights. */
  readonly optimizer: number;
  readonly modelState: number;
  /** Bytes of one batch. */
  readonly batch: number;
  /** Results of the forward pass that the backward pass reads. */
  readonly activations: number;
  /** Bytes of the parameters' gradients, in f32. */
  readonly gradients: number;
}

export interface StepMemory {
  readonly kinds: MemoryKinds;
  /** Bytes of `kinds.optimizer` if all of the optimizer's state were f32. */
  readonly optimizerInF32: number;
  /** Peak bytes if the step's nodes run in order: computed from the types of its values, not measured. */
  readonly plannedPeak: number;
  /** Peak bytes that the engine reports for this run; null if it does not report them. */
  readonly measuredPeak: number | null;
}

/** Kinds of state by slot group. Sums of gradient accumulation count as gradients, scalars not at all. */
const kindOfState: Readonly<Partial<Record<string, keyof MemoryKinds>>> = {
  master: "masters",
  frozen: "masters",
  optimizer: "optimizer",
  model: "modelState",
  ema: "optimizer",
};

/** @param gradients the types of one step's gradients */
export function memoryKinds(graph: Graph, gradients: TypeTree): MemoryKinds {
  const bytes = { masters: 0, optimizer: 0, modelState: 0, batch: 0 } as Record<keyof MemoryKinds, number>;
  for (const { name, value } of graph.inputs) {
    const [tree, part] = name.split("/");
    const kind = tree === "batch" ? "batch" : kindOfState[part ?? ""];
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
    halfWeights: totalBytes(copies),
    activations: totalBytes(findKeptForBackward(graph, new Set(copies))),
    gradients: totalBytes(leavesOf(gradients, isValueType, "gradients").map(([, type]) => type)),
  };
}

/** The forward values that the backward pass reads; values that share memory are listed once. */
function findKeptForBackward(graph: Graph, copies: ReadonlySet<Value>): readonly Value[] {
  const storages = new Storages(graph);
  const isBackward = new Set(graph.nodes.filter(({ origin }) => origin.phase === "backward"));
  return graph.nodes
    .filter(({ origin }) => origin.phase === "forward" || origin.phase === "loss")
    .flatMap((node) => storages.allocations(node))
    .filter((value) => !copies.has(value) && storages.readers(value).some((node) => isBackward.has(node)));
}
