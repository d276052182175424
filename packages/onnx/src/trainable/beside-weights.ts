// Writes adapters as nodes beside the products that they add to: x · W + (dropout(x) · Aᵀ) · (scale · B)ᵀ.
import { type HostTensor, isTensor, type Tensor, tensor, zeros } from "@mp/graph";
import { leafAt } from "@mp/graph/internal";
import { mul, transpose } from "@mp/graph/ops";
import { type OnnxGraph, type OnnxInitializer, onnxNode } from "../model.js";
import type { LinearWeights } from "./linear-weights.js";

/** A weight with its adapter, as `lora` of `@mp/nn/adapters` stores them. */
interface AdaptedWeight {
  readonly weight: Tensor;
  readonly adapter: {
    /** [rank, inputs] */
    readonly down: Tensor;
    /** [outputs, rank] */
    readonly up: Tensor;
    readonly scale: number;
    /** Dropout rate of the adapter's input. */
    readonly dropout: number;
  };
}

export interface AdaptedGraph {
  readonly graph: OnnxGraph;
  /** The parameters of the graph that are not leaves of the parameter tree, by name. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** Names, shapes and rates of the adapters; equal lists give equal graphs. */
  readonly form: readonly unknown[];
}

interface Found {
  readonly model: { readonly graph: OnnxGraph };
  readonly parameters: ReadonlyMap<string, HostTensor>;
  readonly paths: ReadonlyMap<string, string>;
}

const isAdapted = (leaf: unknown): leaf is AdaptedWeight =>
  typeof leaf === "object" && leaf !== null && !isTensor(leaf) && "adapter" in leaf;

/** Adds adapters to a graph, where the traced tree of parameters has adapted weights in place of weights. */
export function besideWeights(
  { model: { graph }, parameters, paths }: Found,
  { weights, products }: LinearWeights,
  tree: unknown,
): AdaptedGraph {
  const adapters = new Map<string, AdaptedWeight["adapter"]>();
  const tensors = new Map<string, Tensor>();
  const initializers: OnnxInitializer[] = [];
  for (const name of weights.keys()) {
    const leaf = leafAt(tree, paths.get(name) ?? name);
    if (!isAdapted(leaf)) continue;
    const { down, up, scale, dropout } = leaf.adapter;
    const dtype = parameters.get(name)?.dtype ?? "f32";
    adapters.set(name, leaf.adapter);
    tensors.set(name, leaf.weight);
    tensors.set(`${name}/lora_A`, transpose(down, [1, 0]));
    tensors.set(`${name}/lora_B`, mul(transpose(up, [1, 0]), scale));
    initializers.push(
      { name: `${name}/lora_A`, tensor: zeros(down.shape.toReversed(), dtype) },
      { name: `${name}/lora_B`, tensor: zeros(up.shape.toReversed(), dtype) },
      { name: `${name}/lora_dropout`, tensor: tensor(Float32Array.of(dropout), []) },
    );
  }
  const nodes = graph.nodes.flatMap((node) => {
    const name = products.get(node) ?? "";
    const adapter = adapters.get(name);
    const [input = ""] = node.inputs;
    const [output = ""] = node.outputs;
    if (adapter === undefined) return [node];
    const { metadata } = node;
    const isDropped = adapter.dropout > 0;
    const [base, narrow, added] = [`${output}/base`, `${output}/narrow`, `${output}/added`];
    const read = isDropped ? `${output}/read` : input;
    const drop = onnxNode("Dropout", [input, `${name}/lora_dropout`], [read], { metadata });
    return [
      { ...node, outputs: [base] },
      ...(isDropped ? [drop] : []),
      onnxNode("MatMul", [read, `${name}/lora_A`], [narrow], { metadata }),
      onnxNode("MatMul", [narrow, `${name}/lora_B`], [added], { metadata }),
      onnxNode("Add", [base, added], [output], { metadata }),
    ];
  });
  return {
    graph: { ...graph, nodes, initializers: [...graph.initializers, ...initializers] },
    tensors,
    form: [...adapters].map(([name, { down, dropout }]) => [name, down.shape, dropout]),
  };
}
