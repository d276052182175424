import {
  emulateHalves,
  expandEinsums,
  type Graph,
  peakLiveBytes,
  producers,
  type Value,
  widenNodes,
} from "@mp/core/graph";
import { encodeModel, type OnnxModel, type OnnxNode, onnxNode, sourceOfNode, writeGraph } from "@mp/onnx";
import { type BoundConstant, bindConstants } from "./bound-constants.js";
import { BLOCKED_DOMAIN } from "./lowerings/blocked-layout.js";
import type { ConstantOf } from "./lowerings/division.js";
import { lowerNodes } from "./lowerings/lower-node.js";
import { executionOrder, listForSchedule } from "./native/index.js";
import { isWidened, type Target } from "./target.js";

/** A graph as the session gets it. */
export interface Lowered {
  readonly model: Uint8Array;
  /** Large constants, to be bound as inputs of these names. */
  readonly constants: readonly BoundConstant[];
  /** The session's name for an input or output of the graph. */
  readonly inputName: (name: string) => string;
  readonly outputName: (name: string) => string;
  /** The graph's node that a node of the session belongs to. */
  readonly nodeOf: (name: string) => string;
  /** Most bytes in use at once in the order that is run, inputs and outputs included, as far as the graph shows. */
  readonly plannedPeakBytes: number;
}

/**
 * The graph as an ONNX model for this engine: halves that it cannot compute in are emulated, large constants are bound,
 * and nodes are listed so that ORT runs them in the graph's order.
 */
export function lowerGraph(graph: Graph, target: Target): Lowered {
  const widenings = new Map<string, string>();
  const sources = new Map<string, string>();
  const expansions = new Map<string, string>();
  // The engine's own Einsum is slower, up to five times, and does not take several operands in their best order.
  const expanded = expandEinsums(
    graph,
    () => true,
    (made, { name }) => expansions.set(made, name),
  );
  const widened = widenNodes(
    expanded,
    (node) => isWidened(node, target),
    (made, { name }) => widenings.set(made, name),
  );
  const closed = emulateHalves(widened, target.emulated, (made, { name }) => sources.set(made, name));
  const written = writeGraph(closed, {
    origins: false,
    types: false,
    lower: lowerNodes(target, constantsOf(closed)),
  });
  const inputs = namesBy(closed.inputs, written.graph.inputs);
  const outputs = namesBy(closed.outputs, written.graph.outputs);
  const parts = new Map(written.graph.nodes.map((node) => [node.name, sourceOfNode(node)]));
  const { model, constants } = bindConstants(written);
  const plan = plannedOrder(closed);
  return {
    model: encodeModel(importingBlocks(listed(model, plan.isOwn))),
    constants,
    inputName: (name) => inputs.get(name) ?? name,
    outputName: (name) => outputs.get(name) ?? name,
    nodeOf: (name) => {
      const source = parts.get(name) ?? name;
      const wide = sources.get(source) ?? source;
      const narrow = widenings.get(wide) ?? wide;
      return expansions.get(narrow) ?? narrow;
    },
    plannedPeakBytes: plan.peakBytes,
  };
}

function constantsOf(graph: Graph): ConstantOf {
  const made = producers(graph);
  return (value) => {
    const node = made.get(value);
    return node?.op === "Constant" ? node.attributes.value : undefined;
  };
}

/** The writer does not know the engine's own domains. */
function importingBlocks(model: OnnxModel): OnnxModel {
  const isUsed = model.graph.nodes.some(({ domain }) => domain === BLOCKED_DOMAIN);
  return isUsed ? { ...model, opsets: { ...model.opsets, [BLOCKED_DOMAIN]: 1 } } : model;
}

function namesBy(
  own: readonly { readonly name: string }[],
  written: readonly { readonly name: string }[],
): ReadonlyMap<string, string> {
  return new Map(own.map(({ name }, index) => [name, written[index]?.name ?? name]));
}

/** A little more memory buys a session without anchors, each of which costs a quarter of a microsecond per step. */
const PEAK_ALLOWANCE = 1.02;

/** Whether the order in which ORT runs the plain reversed list needs no more memory than the schedule. */
function plannedOrder(graph: Graph): { readonly isOwn: boolean; readonly peakBytes: number } {
  const backwards = graph.nodes.toReversed();
  const name = ({ id }: Value): string => String(id);
  const order = executionOrder(
    backwards.map(({ inputs, outputs }) => ({ inputs: inputs.map(name), outputs: outputs.map(name) })),
  );
  const nodes = order.map((place) => backwards[place] as Graph["nodes"][number]);
  const peak = (ordered: Graph): number => peakLiveBytes(ordered, { outputsHeld: true }).bytes;
  const [own, scheduled] = [peak({ ...graph, nodes }), peak(graph)];
  const isOwn = own <= scheduled * PEAK_ALLOWANCE;
  return { isOwn, peakBytes: isOwn ? own : scheduled };
}

/** An anchor's result is empty: a run allocates nothing for it. */
const NO_DIMENSIONS: OnnxNode["attributes"] = {
  start: { kind: "int", value: 0n },
  end: { kind: "int", value: 0n },
};

/** ORT derives its order from the reversed list; where that is not enough, anchor nodes make it start a new walk. */
function listed(model: OnnxModel, isOwn: boolean): OnnxModel {
  const { nodes } = model.graph;
  const list = isOwn
    ? nodes.toReversed()
    : listForSchedule(nodes).map((entry, index): OnnxNode => {
        if (entry.kind === "node") return nodes[entry.position] as OnnxNode;
        const name = `anchor/${index}`;
        return onnxNode("Shape", [entry.value], [name], { name, attributes: NO_DIMENSIONS });
      });
  return { ...model, graph: { ...model.graph, nodes: list } };
}
