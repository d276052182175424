import type { HostTensor } from "@mp/graph";
import type { OnnxGraph, OnnxNode } from "../model.js";
import { readBy } from "./subgraph.js";

/** A weight to which `lora` of `@mp/nn/adapters` can add an adapter. */
export interface LinearWeight {
  /** The weight's path in the tree of parameters. */
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
  /** Whether the shape is [inputs, outputs] instead of [outputs, inputs]. */
  readonly isInputsFirst: boolean;
  /** Always false: a file does not tell which product gives the logits. */
  readonly isHead: boolean;
}

export interface LinearWeights {
  /** The weights by name. */
  readonly weights: ReadonlyMap<string, Omit<LinearWeight, "path">>;
  /** The name of each product's weight. */
  readonly products: ReadonlyMap<OnnxNode, string>;
}

/**
 * Finds the matrices that only products of rows read, either all as x · W or all as x · Wᵀ. An embedding table that
 * is also the weight of the head does not count.
 */
export function linearWeights(graph: OnnxGraph, parameters: ReadonlyMap<string, HostTensor>): LinearWeights {
  const sources = new Map<string, { readonly weight: string; readonly isInputsFirst: boolean }>();
  for (const [weight, { shape }] of parameters)
    if (shape.length === 2) sources.set(weight, { weight, isInputsFirst: true });
  const weights = new Map<string, Omit<LinearWeight, "path">>();
  const products = new Map<OnnxNode, string>();
  const others = new Set<string>();
  for (const node of graph.nodes) {
    const turns = isTransposition(node);
    const source = turns || isProductOfRows(node) ? sources.get(node.inputs[turns ? 0 : 1] ?? "") : undefined;
    const read = readBy(node).flatMap((name) => sources.get(name)?.weight ?? []);
    if (source === undefined || read.length > 1) for (const weight of read) others.add(weight);
    if (source === undefined) continue;
    const { weight } = source;
    const isInputsFirst = source.isInputsFirst !== (turns || numberAttribute(node, "transB", 0) === 1);
    if (turns) sources.set(node.outputs[0] ?? "", { weight, isInputsFirst });
    if (turns) continue;
    if ((weights.get(weight)?.isInputsFirst ?? isInputsFirst) !== isInputsFirst) others.add(weight);
    const { shape = [] } = parameters.get(weight) ?? {};
    const [inputs = 0, outputs = 0] = isInputsFirst ? shape : shape.toReversed();
    weights.set(weight, { inputs, outputs, isInputsFirst, isHead: false });
    products.set(node, weight);
  }
  for (const { name } of graph.outputs) others.add(sources.get(name)?.weight ?? "");
  for (const weight of others) weights.delete(weight);
  return { weights, products };
}

function numberAttribute({ attributes }: OnnxNode, name: string, fallback: number): number {
  const attribute = attributes[name];
  return attribute?.kind === "int" || attribute?.kind === "float" ? Number(attribute.value) : fallback;
}

/** Whether a node transposes a matrix. */
const isTransposition = ({ opType, domain, attributes: { perm } }: OnnxNode): boolean =>
  opType === "Transpose" && domain === "" && (perm?.kind !== "ints" || perm.value[0] === 1n);

/** Whether a node multiplies the rows of its first operand by its second. */
const isProductOfRows = (node: OnnxNode): boolean =>
  node.domain === "" &&
  (node.opType === "MatMul" ||
    (node.opType === "Gemm" &&
      numberAttribute(node, "transA", 0) === 0 &&
      numberAttribute(node, "alpha", 1) === 1));
