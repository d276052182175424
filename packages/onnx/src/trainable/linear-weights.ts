import type { HostTensor } from "@mp/graph";
import type { OnnxGraph, OnnxNode } from "../model.js";
import { readBy } from "./subgraph.js";

/** A weight to which `lora` of `@mp/nn/adapters` can add an adapter. */
export interface LinearWeight {
  /** The weight's path in the tree of parameters. */
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
  /** Whether the weight is [inputs, outputs], for x · W, instead of [outputs, inputs], for x · Wᵀ. */
  readonly isInputsFirst: boolean;
  /** Always false, because a file does not show which product computes the logits. */
  readonly isHead: boolean;
}

export interface LinearWeights {
  /** The weights by name. */
  readonly weights: ReadonlyMap<string, Omit<LinearWeight, "path">>;
  /** The name of the weight that each product reads. */
  readonly products: ReadonlyMap<OnnxNode, string>;
}

/**
 * Finds the matrices that are read only by products of rows, either all as x · W or all as x · Wᵀ. This excludes an
 * embedding table that is also the weight of the head.
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

/** Operands of each operator that are weights, and the axis of the weights that has the outputs. */
const AXES: Readonly<Record<string, { readonly operands: readonly number[]; readonly axis: number }>> = {
  Gather: { operands: [0], axis: 1 },
  Conv: { operands: [1], axis: 0 },
  ConvTranspose: { operands: [1], axis: 1 },
  RNN: { operands: [1, 2], axis: 1 },
  GRU: { operands: [1, 2], axis: 1 },
  LSTM: { operands: [1, 2], axis: 1 },
};

/** The output axis of each weight that a product, convolution, lookup or recurrence reads, by name. */
export function outputAxes(graph: OnnxGraph, { weights }: LinearWeights): ReadonlyMap<string, number> {
  const axes = new Map<string, number>();
  for (const { opType, domain, inputs } of graph.nodes) {
    const row = domain === "" && Object.hasOwn(AXES, opType) ? AXES[opType] : undefined;
    for (const operand of row?.operands ?? []) axes.set(inputs[operand] ?? "", row?.axis as number);
  }
  for (const [name, { isInputsFirst }] of weights) axes.set(name, isInputsFirst ? 1 : 0);
  return axes;
}

function numberAttribute({ attributes }: OnnxNode, name: string, fallback: number): number {
  const attribute = attributes[name];
  return attribute?.kind === "int" || attribute?.kind === "float" ? Number(attribute.value) : fallback;
}

/** Whether a node transposes a matrix. */
const isTransposition = ({ opType, domain, attributes: { perm } }: OnnxNode): boolean =>
  opType === "Transpose" && domain === "" && (perm?.kind !== "ints" || perm.value[0] === 1n);

/** Whether a node multiplies the rows of its first operand by the matrix in its second. */
const isProductOfRows = (node: OnnxNode): boolean =>
  node.domain === "" &&
  (node.opType === "MatMul" ||
    (node.opType === "Gemm" &&
      numberAttribute(node, "transA", 0) === 0 &&
      numberAttribute(node, "alpha", 1) === 1));
