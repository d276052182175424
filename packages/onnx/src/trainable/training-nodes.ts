// Puts back nodes that an export for inference removed: statistics that follow the batch, and dropout.
import { tensor } from "@mp/graph";
import { int, type OnnxGraph, type OnnxNode, onnxNode } from "../model.js";
import { shortest } from "../numbers.js";
import { quote } from "../problem.js";
import { invalid } from "./invalid.js";

/** A batch normalization whose running mean and variance are initializers, and so can become state. */
export interface Statistics {
  /** Name of the node's first output, the normalized value. */
  readonly node: string;
  /** Names of the initializers with mean and variance. */
  readonly mean: string;
  readonly variance: string;
  /** The weight of the old running statistics in an update. */
  readonly momentum: number;
}

/** The name of the output that holds the batch mean in training. */
export const batchMean = ({ node }: Statistics): string => `${node}/batch_mean`;
export const batchVariance = ({ node }: Statistics): string => `${node}/batch_variance`;

const isBatchNormalization = ({ opType, domain }: OnnxNode): boolean =>
  opType === "BatchNormalization" && domain === "";

/** Finds the batch normalizations whose running statistics are initializers, in the order of the nodes. */
export function findStatistics({ nodes, initializers }: OnnxGraph): readonly Statistics[] {
  const known = new Set(initializers.map(({ name }) => name));
  return nodes.filter(isBatchNormalization).flatMap(({ inputs, outputs, attributes }) => {
    const [mean = "", variance = ""] = inputs.slice(3);
    const momentum = attributes["momentum"];
    if (!known.has(mean) || !known.has(variance)) return [];
    return [
      {
        node: outputs[0] ?? "",
        mean,
        variance,
        momentum: momentum?.kind === "float" ? shortest(momentum.value, "f32") : 0.9,
      },
    ];
  });
}

/** Makes these normalizations use running statistics, or batch statistics, which then become outputs. */
export function withStatistics(
  graph: OnnxGraph,
  statistics: readonly Statistics[],
  by: "batch" | "running",
): OnnxGraph {
  const found = new Map(statistics.map((each) => [each.node, each]));
  const nodes = graph.nodes.map((node): OnnxNode => {
    const each = isBatchNormalization(node) ? found.get(node.outputs[0] ?? "") : undefined;
    if (each === undefined) return node;
    const { momentum: _, training_mode: __, ...attributes } = node.attributes;
    if (by === "running") return { ...node, attributes, outputs: [each.node] };
    // The operator's own update keeps the biased variance; without a momentum it gives the statistics themselves.
    const given = { ...attributes, training_mode: int(1), momentum: { kind: "float", value: 0 } as const };
    return { ...node, attributes: given, outputs: [each.node, batchMean(each), batchVariance(each)] };
  });
  const added = by === "running" ? [] : statistics.flatMap((each) => [batchMean(each), batchVariance(each)]);
  return { ...graph, nodes, outputs: [...graph.outputs, ...added.map((name) => ({ name, metadata: {} }))] };
}

/**
 * Adds dropout after the named values.
 * @throws MP_INVALID_ARGUMENT for an unknown value, an output of the graph, or a rate that is not in [0, 1)
 */
export function withDropout(graph: OnnxGraph, rates: Readonly<Record<string, number>>): OnnxGraph {
  const made = new Set(graph.nodes.flatMap(({ outputs }) => outputs));
  for (const [name, rate] of Object.entries(rates)) {
    if (!made.has(name)) invalid(`dropout: no node makes the value ${quote(name)}`);
    if (!(typeof rate === "number" && rate >= 0 && rate < 1))
      invalid(`dropout: a rate must be at least 0 and below 1, got ${rate} for ${quote(name)}`);
  }
  const afterDropout = (name: string): string => (Object.hasOwn(rates, name) ? `${name}/dropped` : name);
  const nodes = graph.nodes.flatMap((node) => {
    const moved = { ...node, inputs: node.inputs.map(afterDropout) };
    const drops = node.outputs.filter((name) => Object.hasOwn(rates, name));
    const { metadata } = node;
    return [
      moved,
      ...drops.map((name) => onnxNode("Dropout", [name, `${name}/rate`], [afterDropout(name)], { metadata })),
    ];
  });
  const outputs = graph.outputs.filter(({ name }) => Object.hasOwn(rates, name));
  if (outputs.length > 0)
    invalid(`dropout: ${quote(outputs[0]?.name ?? "")} is an output; drop after the model instead`);
  const ratios = Object.entries(rates).map(([name, rate]) => ({
    name: `${name}/rate`,
    tensor: tensor(Float32Array.of(rate), []),
  }));
  return { ...graph, nodes, initializers: [...graph.initializers, ...ratios] };
}
