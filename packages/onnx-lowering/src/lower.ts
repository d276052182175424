import {
  type AnyNode,
  emulateHalves,
  expandComposites,
  type Graph,
  type HostTensor,
  isNode,
  peakLiveBytes,
  type Value,
  widenNodes,
} from "@mp/graph";
import {
  bodiesOf,
  encodeModel,
  mapBodies,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  onnxNode,
  sourceOfNode,
  writeGraph,
} from "@mp/onnx/write";
import { type BoundConstant, bindConstants } from "./bound-constants.js";
import { rulesFor } from "./device-rules.js";
import { executionOrder, lateFirst, listForSchedule, type OrderedNode } from "./execution-order.js";
import { BLOCKED_DOMAIN } from "./lowerings/blocked-layout.js";
import { fixedValues } from "./lowerings/fixed-values.js";
import type { ProducerOf } from "./lowerings/lower-node.js";
import { isWidened, type Target } from "./lowerings/target.js";
import { FUSED_DOMAIN, findUnswapped, type Unswapped } from "./lowerings/transposed-products.js";

/** A lowered graph, ready for a session. */
export interface Lowered {
  readonly model: Uint8Array;
  /** Large constants, to bind as inputs or give as initializers with these names. */
  readonly constants: readonly BoundConstant[];
  /**
   * Names of the constants and fixed inputs that the session gets apart from the model; undefined unless the engine
   * folds constants. Unread names are absent: the engine removes them from the model and then refuses them.
   */
  readonly initializers: ReadonlySet<string> | undefined;
  /** The session's name for an input or output of the graph. */
  readonly inputName: (name: string) => string;
  readonly outputName: (name: string) => string;
  /** Whether any node reads this input of the graph; the session may lack unread inputs. */
  readonly isRead: (name: string) => boolean;
  /** The name of the graph node from which a node of the session was lowered. */
  readonly nodeOf: (name: string) => string;
  /** Whether a node of the session is in a loop's body; its time is part of the loop's time. */
  readonly isInBody: (name: string) => boolean;
  /** Peak of live bytes in the order of execution, with inputs and outputs, without the engine's buffers. */
  readonly plannedPeakBytes: number;
}

const NONE: Unswapped = new Set();

/**
 * Lowers a graph to an ONNX model for this engine: half dtypes in which it cannot compute are emulated, large
 * constants become inputs, and nodes are sorted such that ORT runs them in the graph's order.
 * @param fixed inputs that are constant; if there are any, the model is for the engine's own optimizer
 */
export function lowerGraph(graph: Graph, device: Target, fixed: ReadonlySet<string> = new Set()): Lowered {
  const isFolded = fixed.size > 0;
  // The optimizer chooses layouts and fuses transpositions itself, and does not recognize ours.
  const target = isFolded ? { ...device, blockSize: undefined } : device;
  const widenings = new Map<string, string>();
  const sources = new Map<string, string>();
  // The engine's own Einsum takes up to five times as long, and does not take several operands in their best order.
  const expanded = expandComposites(graph);
  const widened = widenNodes(
    expanded.graph,
    (node) => isWidened(node, target),
    (made, { name }) => widenings.set(made, name),
  );
  const emulated = emulateHalves(widened, target.emulated, (made, { name }) => sources.set(made, name));
  const rules = rulesFor(target);
  const closed = rules.prepare(emulated, (made, { name }) => sources.set(made, sources.get(name) ?? name));
  const producerOf = findProducers(closed);
  const written = writeGraph(closed, {
    origins: false,
    types: false,
    lower: rules.lowerNodes(target, {
      constantOf: (value) => constantIn(producerOf(value)),
      producerOf,
      unswapped:
        target.device === "cpu" && target.differences === undefined && !isFolded
          ? findUnswapped(closed)
          : NONE,
      fixed: fixedValues(closed, fixed),
    }),
  });
  const inputs = namesBy(closed.inputs, written.graph.inputs);
  const outputs = namesBy(closed.outputs, written.graph.outputs);
  const parts = nodeSources(written.graph);
  const listedNames = new Set(written.graph.nodes.map(({ name }) => name));
  const parted = rules.apart(written.graph);
  const { model, constants } = bindConstants(
    { ...written, graph: parted.graph, opsets: { ...written.opsets, "": rules.opset } },
    parted.names,
  );
  const plan =
    target.differences === undefined
      ? planOrder(closed, isFolded || !rules.hasAnchors)
      : planSchedule(closed);
  const listedModel = importingOwn({ ...model, graph: listNodes(rules.finish(model.graph), plan) });
  const read = readNames(listedModel.graph);
  const given = [...fixed].map((name) => inputs.get(name) ?? name).concat(constants.map(({ name }) => name));
  return {
    model: isFolded ? withInitializers(listedModel, new Set(given), read) : encodeModel(listedModel),
    constants,
    initializers: isFolded ? new Set(given.filter((name) => read.has(name))) : undefined,
    inputName: (name) => inputs.get(name) ?? name,
    outputName: (name) => outputs.get(name) ?? name,
    isRead: (name) => read.has(inputs.get(name) ?? name),
    nodeOf: (name) => {
      const part = parts.get(name) ?? name;
      const wide = sources.get(part) ?? part;
      return expanded.sourceOf(widenings.get(wide) ?? wide);
    },
    isInBody: (name) => parts.has(name) && !listedNames.has(name),
    plannedPeakBytes: plan.peakBytes,
  };
}

/** Turns the named inputs that are read into initializers without data, which the session gets separately. */
function withInitializers(
  { graph, ...model }: OnnxModel,
  names: ReadonlySet<string>,
  read: ReadonlySet<string>,
): Uint8Array {
  const external = graph.inputs.filter(({ name }) => names.has(name) && read.has(name));
  const inputs = graph.inputs.filter(({ name }) => !names.has(name));
  return encodeModel({ ...model, graph: { ...graph, inputs } }, { external });
}

/** All names that nodes read, including nodes in loop bodies. */
const readNames = ({ nodes }: OnnxGraph): ReadonlySet<string> =>
  new Set(nodes.flatMap((node) => withCaptured(node).inputs));

/** Maps each node of the session to its graph node; nodes in a loop's body map to the loop. */
function nodeSources(graph: OnnxGraph): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const node of graph.nodes) {
    const source = sourceOfNode(node);
    parts.set(node.name, source);
    for (const body of bodiesOf(node)) for (const name of nodeSources(body).keys()) parts.set(name, source);
  }
  return parts;
}

/** Finds the node that computes each value, also in loop bodies. */
function findProducers(graph: Graph): ProducerOf {
  const made = new Map<Value, AnyNode>();
  const visit = ({ nodes }: Graph): void => {
    for (const node of nodes) {
      for (const output of node.outputs) made.set(output, node);
      if (isNode(node, "Scan")) visit(node.attributes.body);
    }
  };
  visit(graph);
  return (value) => made.get(value);
}

const constantIn = (node: AnyNode | undefined): HostTensor | undefined =>
  node !== undefined && isNode(node, "Constant") ? node.attributes.value : undefined;

/** Domains of the engine that the writer does not know. */
const OWN_DOMAINS = [BLOCKED_DOMAIN, FUSED_DOMAIN];

function importingOwn(model: OnnxModel): OnnxModel {
  const isUsed =
    (domain: string) =>
    ({ nodes }: OnnxGraph): boolean =>
      nodes.some((node) => node.domain === domain || bodiesOf(node).some(isUsed(domain)));
  const used = OWN_DOMAINS.filter((domain) => isUsed(domain)(model.graph));
  return { ...model, opsets: { ...model.opsets, ...Object.fromEntries(used.map((domain) => [domain, 1])) } };
}

function namesBy(
  own: readonly { readonly name: string }[],
  written: readonly { readonly name: string }[],
): ReadonlyMap<string, string> {
  return new Map(own.map(({ name }, index) => [name, written[index]?.name ?? name]));
}

/** Memory of ORT's own order, in multiples of the schedule's, above which anchors are used (0.25 µs each a step). */
const PEAK_ALLOWANCE = 1.02;

interface Plan {
  /** Orders nodes for the file, from which ORT derives the order of execution. */
  readonly list: (nodes: readonly OnnxNode[]) => readonly OnnxNode[];
  readonly peakBytes: number;
  /** The plans of loop bodies, by the name of the loop's node. */
  readonly bodies: ReadonlyMap<string, Plan>;
}

/** Describes a node by the ids of its inputs and outputs. */
const byIds = ({ inputs, outputs }: AnyNode): OrderedNode => ({
  inputs: inputs.map(({ id }) => String(id)),
  outputs: outputs.map(({ id }) => String(id)),
});

/** Peak memory, in bytes, in the order that ORT derives from this list of nodes. */
function measurePeak(graph: Graph, list: Graph["nodes"]): number {
  const order = executionOrder(list.map(byIds));
  const nodes = order.map((place) => list[place] as AnyNode);
  return peakLiveBytes({ ...graph, nodes }, { outputsHeld: true }).bytes;
}

/**
 * Plans the reversed list if ORT's order for it needs at most `PEAK_ALLOWANCE` times the schedule's memory,
 * or if the engine's optimizer would remove anchors (`isPlain`). Otherwise anchors keep ORT to the schedule.
 */
function planOrder(graph: Graph, isPlain: boolean): Plan {
  const own = measurePeak(graph, graph.nodes.toReversed());
  const scheduled = peakLiveBytes(graph, { outputsHeld: true }).bytes;
  const isOwn = isPlain || own <= scheduled * PEAK_ALLOWANCE;
  return {
    list: isOwn ? (nodes) => nodes.toReversed() : withAnchors,
    peakBytes: isOwn ? own : scheduled,
    bodies: planBodies(graph),
  };
}

/** Plans the graph's own order, for engines that run nodes as listed. */
const planSchedule = (graph: Graph): Plan => ({
  list: (nodes) => nodes,
  peakBytes: peakLiveBytes(graph, { outputsHeld: true }).bytes,
  bodies: new Map(),
});

/** Plans a loop's body, which must be listed in a topological order; anchors do not help there. */
function planBody(body: Graph): Plan {
  const late = lateFirst(body.nodes.map(byIds)).map((place) => body.nodes[place] as AnyNode);
  const [own, other] = [measurePeak(body, body.nodes), measurePeak(body, late)];
  const isLate = other <= own;
  return {
    list: isLate
      ? (nodes) => lateFirst(nodes.map(withCaptured)).map((place) => nodes[place] as OnnxNode)
      : (nodes) => nodes,
    peakBytes: isLate ? other : own,
    bodies: planBodies(body),
  };
}

function planBodies({ nodes }: Graph): ReadonlyMap<string, Plan> {
  const loops = nodes.filter((node) => isNode(node, "Scan"));
  return new Map(loops.map((node) => [node.name, planBody(node.attributes.body)]));
}

/** Attributes that make an anchor, a Shape node, give an empty result, for which a run allocates nothing. */
const NO_DIMENSIONS: OnnxNode["attributes"] = {
  start: { kind: "int", value: 0n },
  end: { kind: "int", value: 0n },
};

/** Lists nodes in reverse, with anchors where ORT needs them to start a new walk. */
function withAnchors(nodes: readonly OnnxNode[]): readonly OnnxNode[] {
  return listForSchedule(nodes.map(withCaptured)).map((entry, index): OnnxNode => {
    if (entry.kind === "node") return nodes[entry.position] as OnnxNode;
    const name = `anchor/${index}`;
    return onnxNode("Shape", [entry.value], [name], { name, attributes: NO_DIMENSIONS });
  });
}

/** The names of a node; the names that its bodies read count as inputs, as in the engine. */
const withCaptured = (node: OnnxNode): OrderedNode => ({
  inputs: [
    ...node.inputs,
    ...bodiesOf(node).flatMap(({ nodes }) => nodes.flatMap((inner) => withCaptured(inner).inputs)),
  ],
  outputs: node.outputs,
});

/** Sorts the node lists of the graph and of its loop bodies such that ORT runs the nodes in the planned order. */
function listNodes(graph: OnnxGraph, { list, bodies }: Plan): OnnxGraph {
  const nodes = graph.nodes.map((node): OnnxNode => {
    const plan = bodies.get(sourceOfNode(node));
    if (plan === undefined) return node;
    return { ...node, attributes: mapBodies(node.attributes, (body) => listNodes(body, plan)) };
  });
  return { ...graph, nodes: list(nodes) };
}
