import {
  type BackendManifest,
  emulateHalves,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isNode,
  type Value,
} from "@mp/core";
import { peakLiveBytes } from "@mp/core/backend";
import { encodeModel, type OnnxModel, type OnnxNode, onnxNode, sourceOfNode, toOnnx } from "@mp/onnx";
import { emulatedHalves } from "./dtype.js";
import { lowerNode } from "./lowerings/lower-node.js";
import { executionOrder, listForSchedule } from "./native/index.js";

/** A graph as the session gets it. */
export interface Lowered {
  readonly model: Uint8Array;
  /** Large constants, bound as inputs of these names: a protobuf ends at 2 GB. */
  readonly constants: readonly { readonly name: string; readonly value: HostTensor }[];
  /** The session's name for an input or output of the graph. */
  readonly inputName: (name: string) => string;
  readonly outputName: (name: string) => string;
  /** The graph's node that a node of the session belongs to. */
  readonly nodeOf: (name: string) => string;
}

const INLINE_BYTES = 4096;
const CONSTANT_PREFIX = "constant/";

/**
 * The graph as an ONNX model for this engine: halves it cannot compute in emulated, large constants bound,
 * nodes listed so that ORT runs them in the graph's order.
 */
export function lowerGraph(graph: Graph, manifest: BackendManifest): Lowered {
  const { graph: bound, constants } = bindConstants(graph);
  const closed = emulateHalves(bound, emulatedHalves(manifest));
  const model = toOnnx(closed, { origins: false, types: false, lower: lowerNode });
  const inputs = namesBy(closed.inputs, model.graph.inputs);
  const outputs = namesBy(closed.outputs, model.graph.outputs);
  const sources = new Map(model.graph.nodes.map((node) => [node.name, sourceOfNode(node)]));
  return {
    model: encodeModel(listed(model, ownOrderWillDo(closed))),
    constants: constants.map(({ name, value }) => ({ name: inputs.get(name) ?? name, value })),
    inputName: (name) => inputs.get(name) ?? name,
    outputName: (name) => outputs.get(name) ?? name,
    nodeOf: (name) => sources.get(name) ?? name,
  };
}

function namesBy(
  own: readonly { readonly name: string }[],
  written: readonly { readonly name: string }[],
): ReadonlyMap<string, string> {
  return new Map(own.map(({ name }, index) => [name, written[index]?.name ?? name]));
}

/** A little memory buys a session without anchors, each of which costs a quarter of a microsecond a step. */
const PEAK_ALLOWANCE = 1.02;

/** Whether the order that ORT makes of the plain backwards list needs no more memory than the schedule. */
function ownOrderWillDo(graph: Graph): boolean {
  const backwards = graph.nodes.toReversed();
  const name = ({ id }: Value): string => String(id);
  const order = executionOrder(
    backwards.map(({ inputs, outputs }) => ({ inputs: inputs.map(name), outputs: outputs.map(name) })),
  );
  const nodes = order.map((place) => backwards[place] as Graph["nodes"][number]);
  const peak = (ordered: Graph): number => peakLiveBytes(ordered, { outputsHeld: true }).bytes;
  return peak({ ...graph, nodes }) <= peak(graph) * PEAK_ALLOWANCE;
}

/** An anchor's result is empty: a run allocates nothing for it. */
const NO_DIMENSIONS: OnnxNode["attributes"] = {
  start: { kind: "int", value: 0n },
  end: { kind: "int", value: 0n },
};

/** ORT takes its order from the list backwards; where that is not enough, anchor nodes make it start anew. */
function listed(model: OnnxModel, plainly: boolean): OnnxModel {
  const { nodes } = model.graph;
  const list = plainly
    ? nodes.toReversed()
    : listForSchedule(nodes).map((entry, index): OnnxNode => {
        if (entry.kind === "node") return nodes[entry.position] as OnnxNode;
        const name = `anchor/${index}`;
        return onnxNode("Shape", [entry.value], [name], { name, attributes: NO_DIMENSIONS });
      });
  return { ...model, graph: { ...model.graph, nodes: list } };
}

/** Constants above a few KiB become inputs; equal ones are one already. */
function bindConstants(graph: Graph): {
  readonly graph: Graph;
  readonly constants: readonly { readonly name: string; readonly value: HostTensor }[];
} {
  const constants: { name: string; value: HostTensor }[] = [];
  const builder = new GraphBuilder();
  const twins = new Map<Value, Value>();
  for (const { name, role, value } of graph.inputs) twins.set(value, builder.input(name, value, role));
  for (const node of graph.nodes) {
    if (isNode(node, "Constant") && node.attributes.value.data.byteLength > INLINE_BYTES) {
      const { value } = node.attributes;
      const name = `${CONSTANT_PREFIX}${constants.length}`;
      twins.set(node.outputs[0] as Value, builder.input(name, value, "capture"));
      constants.push({ name, value });
      continue;
    }
    const inputs = node.inputs.map((value) => twins.get(value) as Value);
    const outputs = builder.emit(node.op, inputs, node.attributes, node.origin);
    for (const [index, output] of node.outputs.entries()) twins.set(output, outputs[index] as Value);
  }
  if (constants.length === 0) return { graph, constants };
  const outputs = graph.outputs.map(({ name, value }) => [name, twins.get(value) as Value] as const);
  return { graph: builder.finish(Object.fromEntries(outputs)), constants };
}
