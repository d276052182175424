import type { AnyNode, Graph, Value, ValueType } from "../graph/graph.js";
import { withOwnConstants } from "./own-bodies.js";

/** One node with the indices of its operands and results in the run's array of slots. */
export interface PlanStep {
  readonly node: AnyNode;
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  /** Slots that are not read after this step. */
  readonly frees: readonly number[];
}

/** A graph with its names and lifetimes resolved, made once per executable. */
export interface Plan {
  readonly types: readonly ValueType[];
  readonly steps: readonly PlanStep[];
  /** Steps whose results are the same in every run. They run at compilation, and a run never frees their slots. */
  readonly constants: readonly PlanStep[];
  readonly inputs: ReadonlyMap<string, number>;
  readonly outputs: ReadonlyMap<string, number>;
  /** Whether the slot is read; an input that is never read is checked but not uploaded. */
  isRead(slot: number): boolean;
}

/** Plans the steps in graph order, which is a schedule that frees memory early; a backend must not change it. */
export function planGraph(graph: Graph): Plan {
  const slots = new Map<Value, number>();
  const types: ValueType[] = [];
  const findSlot = (value: Value): number => {
    const known = slots.get(value);
    if (known !== undefined) return known;
    slots.set(value, types.length);
    types.push({ dtype: value.dtype, shape: value.shape });
    return types.length - 1;
  };
  const inputs = new Map(graph.inputs.map(({ name, value }) => [name, findSlot(value)]));
  const constants: PlanStep[] = [];
  const open: { node: AnyNode; reads: number[]; writes: number[] }[] = [];
  for (const node of graph.nodes) {
    const step = { node, reads: node.inputs.map(findSlot), writes: node.outputs.map(findSlot) };
    if (node.op === "Constant") constants.push({ ...step, frees: [] });
    else open.push({ ...step, node: withOwnConstants(node) });
  }
  const outputs = new Map(graph.outputs.map(({ name, value }) => [name, findSlot(value)]));
  const kept = new Set([...outputs.values(), ...constants.flatMap((step) => step.writes)]);
  const lastStep = new Map<number, number>();
  open.forEach((step, index) => {
    for (const slot of [...step.writes, ...step.reads]) lastStep.set(slot, index);
  });
  const steps = open.map((step, index) => ({
    ...step,
    frees: [...new Set([...step.reads, ...step.writes])].filter(
      (slot) => lastStep.get(slot) === index && !kept.has(slot),
    ),
  }));
  const isRead = (slot: number): boolean => lastStep.has(slot) || kept.has(slot);
  return { types, steps, constants, inputs, outputs, isRead };
}
