import {
  type AnyNode,
  expandAttentions,
  type Graph,
  type GraphNode,
  type Op,
  opTable,
  type Value,
  validateGraph,
} from "@mp/graph";
import { type Invariant, invariantsFromMetadata, invariantsToMetadata } from "../invariants.js";
import { HELPER_KEY, LITERAL_KEY, NAME_KEY, NODE_KEY, originToMetadata, ROLE_KEY } from "../metadata-keys.js";
import {
  bodiesOf,
  mapBodies,
  type OnnxGraph,
  type OnnxModel,
  type OnnxNode,
  type OnnxValueInfo,
  OPSET_VERSION,
  onnxGraph,
  onnxModel,
  onnxNode,
} from "../model.js";
import { OWN_DOMAIN, OWN_VERSION } from "../own-domain.js";
import { GraphWriter, ModelParts } from "./graph-writer.js";
import type { Lowering, LowerNode } from "./lowering.js";
import { standardLowerings } from "./lowerings.js";

export interface WriteOptions {
  /** The graph's name in the file; default "graph". */
  readonly name?: string;
  /**
   * `decompose` (default) writes `mp` ops as ONNX ops, and `BatchNormalization` without the training mode that
   * engines get wrong, so that any engine runs the model. `keep` writes `mp` ops as nodes of that domain, which an
   * engine must support; everything then reads back unchanged.
   */
  readonly ownOps?: "decompose" | "keep";
  /** Whether nodes carry scope, phase and source line (a path on this machine) as metadata; default true. */
  readonly origins?: boolean;
  /** Whether the types of inner values are declared; default true. */
  readonly types?: boolean;
  /** An engine's own lowering of nodes. */
  readonly lower?: LowerNode;
}

/**
 * Writes a graph as an ONNX model of opset 23. Inputs, outputs and nodes keep their order, and nodes their names, so
 * that an engine's profile can be mapped back (`sourceOfNode` for helper nodes). An output that has the name of an
 * input, or is the second output of the same value, gets another name; use the order instead.
 * @throws MP_INVALID_ARGUMENT for an invalid graph, MP_OUT_OF_RANGE for a bound that its dtype cannot represent
 */
export function writeGraph(graph: Graph, options: WriteOptions = {}): OnnxModel {
  validateGraph(graph);
  const parts = new ModelParts();
  const hasParts = ({ op }: AnyNode): boolean => opTable[op].parts !== undefined;
  const decomposed = options.ownOps === "keep" ? graph : expandAttentions(graph, hasParts);
  const written = new ModelWriting(options, parts).graph(decomposed, options.name ?? "graph");
  return onnxModel(
    { ...written, initializers: parts.initializers },
    { opsets: { "": OPSET_VERSION, ...(usesOwn(written) ? { [OWN_DOMAIN]: OWN_VERSION } : {}) } },
  );
}

/** Writes the graphs of one model: the main one and the bodies of loops. */
class ModelWriting {
  readonly #options: WriteOptions;
  readonly #parts: ModelParts;

  constructor(options: WriteOptions, parts: ModelParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Writes a graph or body. A body's last inputs are the outer values `given`; `path` is the name of its node. */
  graph(graph: Graph, name: string, path = "", given: readonly string[] = []): OnnxGraph {
    const { ownOps = "decompose", origins = true, types = true } = this.#options;
    const names = this.#parts.values;
    const own = graph.inputs.length - given.length;
    const inputs = graph.inputs.slice(0, own).map(({ name, role, value }): OnnxValueInfo => {
      const written = names.claim(name === "" ? "input" : name);
      return valueInfo(written, value, {
        [ROLE_KEY]: role,
        ...(written === name ? {} : { [NAME_KEY]: name }),
      });
    });
    const outputNames = graph.outputs.map(({ name }) => names.claim(name === "" ? "output" : name));
    const writer = new GraphWriter(this.#parts, graph.nodes, {
      path,
      keepsOwnOps: ownOps === "keep",
      writeBody: (body, path, given) => this.graph(body, path, path, given),
    });
    const nameOf = new Map<Value, string>();
    graph.inputs.forEach(({ value }, index) => {
      nameOf.set(value, inputs[index]?.name ?? given[index - own] ?? "");
    });
    for (const node of graph.nodes) {
      writer.begin(node, { ...(origins ? originToMetadata(node.origin) : {}), ...literalMetadata(node) });
      const results = this.#lower(
        node,
        node.inputs.map((value) => lookUp(nameOf, value)),
        writer,
      );
      node.outputs.forEach((value, index) => {
        const result = results[index];
        if (result === undefined)
          throw new Error(`internal: ${node.name} was lowered without output ${index}`);
        nameOf.set(value, result);
      });
    }
    const { nodes, renamed } = nameOutputs(graph, writer.nodes, nameOf, outputNames);
    const outputs = graph.outputs.map(({ name, value }, index): OnnxValueInfo => {
      const written = outputNames[index] as string;
      return valueInfo(written, value, written === name ? {} : { [NAME_KEY]: name });
    });
    const onBoundary = new Set([...given, ...[...inputs, ...outputs].map(({ name }) => name)]);
    const declared = new Map<string, OnnxValueInfo>();
    for (const value of types ? graph.nodes.flatMap((node) => node.outputs) : []) {
      const inner = lookUp(nameOf, value);
      const name = renamed.get(inner) ?? inner;
      if (!onBoundary.has(name)) declared.set(name, valueInfo(name, value, {}));
    }
    return onnxGraph(name, { inputs, outputs, nodes, valueInfos: [...declared.values()] });
  }

  #lower(node: AnyNode, operands: readonly string[], writer: GraphWriter): readonly string[] {
    const { lower } = this.#options;
    return lower === undefined
      ? standard(node, operands, writer)
      : lower(node, operands, writer, (other, operandNames) => standard(other, operandNames, writer));
  }
}

function usesOwn({ nodes }: OnnxGraph): boolean {
  return nodes.some((node) => node.domain === OWN_DOMAIN || bodiesOf(node).some(usesOwn));
}

/** The name of the graph's node that an ONNX node implements, wholly or in part. */
export function sourceOfNode(node: OnnxNode): string {
  return node.metadata[NODE_KEY] ?? node.name;
}

function standard(node: AnyNode, operands: readonly string[], writer: GraphWriter): readonly string[] {
  return (standardLowerings[node.op] as Lowering)(node as GraphNode<Op>, operands, writer);
}

function literalMetadata(node: AnyNode): Readonly<Record<string, string>> {
  if (node.op !== "Constant" || node.attributes.literal === undefined) return {};
  const { literal } = node.attributes;
  return { [LITERAL_KEY]: Object.is(literal, -0) ? "-0" : String(literal) };
}

function lookUp(names: ReadonlyMap<Value, string>, value: Value): string {
  const name = names.get(value);
  if (name === undefined) throw new Error(`internal: value %${value.id} is used before it is made`);
  return name;
}

function valueInfo(
  name: string,
  { dtype, shape }: Value,
  metadata: Readonly<Record<string, string>>,
): OnnxValueInfo {
  return { name, type: { elementType: dtype, shape }, metadata };
}

/**
 * Names the graph's outputs. The value of a node gets the name of its first output; its further outputs, and outputs
 * that are inputs, get an Identity.
 */
function nameOutputs(
  graph: Graph,
  nodes: readonly OnnxNode[],
  nameOf: ReadonlyMap<Value, string>,
  outputNames: readonly string[],
): { readonly nodes: readonly OnnxNode[]; readonly renamed: ReadonlyMap<string, string> } {
  const made = new Set(nodes.flatMap(({ outputs }) => outputs));
  const renamed = new Map<string, string>();
  const copies: OnnxNode[] = [];
  graph.outputs.forEach(({ value }, index) => {
    const name = lookUp(nameOf, value);
    const output = outputNames[index] as string;
    if (made.has(name) && !renamed.has(name)) renamed.set(name, output);
    else {
      const own = { name: `output ${output}`, metadata: { [HELPER_KEY]: "1" } };
      copies.push(onnxNode("Identity", [renamed.get(name) ?? name], [output], own));
    }
  });
  const rename = (name: string): string => renamed.get(name) ?? name;
  return { nodes: [...nodes.map((node) => renameNode(node, rename)), ...copies], renamed };
}

/** Renames the values of a node, also in its bodies, which read names of the surrounding graph. */
function renameNode(node: OnnxNode, rename: (name: string) => string): OnnxNode {
  const invariants = invariantsFromMetadata(node).map(
    ([outer, name, role]): Invariant => [rename(outer), name, role],
  );
  return {
    ...node,
    inputs: node.inputs.map(rename),
    outputs: node.outputs.map(rename),
    attributes: mapBodies(node.attributes, (body) => ({
      ...body,
      nodes: body.nodes.map((inner) => renameNode(inner, rename)),
    })),
    metadata: { ...node.metadata, ...invariantsToMetadata(invariants) },
  };
}
