import type { DType, Shape } from "@mp/core";
import {
  type AnyNode,
  consumers,
  elementCount,
  type Graph,
  isFloat,
  PRODUCT_OPS,
  type Value,
} from "@mp/core/graph";
import { type PlannedMemory, type PlannedStep, planMemory } from "@mp/core/report";

/** A layer of a model: one scope of a training step. */
export interface LayerSummary {
  /** Path of the scope, `encoder/0/dense`; empty for nodes outside layers, such as those of the loss. */
  readonly layer: string;
  /** The scope's name for readers, if it differs from the path. */
  readonly label?: string;
  /** Shape of the layer's result: of its results that other layers read, the last. */
  readonly shape: Shape;
  /** Number of trained parameters. A parameter that several layers share counts for the first layer. */
  readonly parameters: number;
  /** Number of frozen parameters. */
  readonly frozen: number;
  /** Dtypes of the layer's matrix products and convolutions, or of its results if it has none of these. */
  readonly dtypes: readonly DType[];
}

/** The layers of a model, and the memory that a training step takes. */
export interface ModelSummary {
  /** The layers in the order in which they compute. */
  readonly layers: readonly LayerSummary[];
  readonly parameters: number;
  readonly frozen: number;
  /** Bytes of memory, computed from the graph, not measured. */
  readonly memory: PlannedMemory;
}

/**
 * Summarizes a training step by its graph, without running it: layers, shapes, parameters, compute dtypes and
 * memory. `formatSummary` formats the result as text.
 * @example
 * ```ts
 * const step = { manifest: backend.manifest, precision: training.precision };
 * console.log(formatSummary(summary(training.graph(batch), step)));
 * ```
 */
export function summary(graph: Graph, step: PlannedStep): ModelSummary {
  const uses = consumers(graph);
  const forward = graph.nodes.filter(({ origin }) => origin.phase === "forward" || origin.phase === "loss");
  const byLayer = new Map<string, AnyNode[]>();
  for (const node of forward) {
    const own = byLayer.get(node.origin.scope);
    if (own === undefined) byLayer.set(node.origin.scope, [node]);
    else own.push(node);
  }
  const counts = countsByLayer(graph, uses, step);
  for (const layer of [...counts.parameters.keys(), ...counts.frozen.keys()])
    if (!byLayer.has(layer)) byLayer.set(layer, []);
  const layers = [...byLayer].map(
    ([layer, nodes]): LayerSummary => ({
      layer,
      ...layerLabel(nodes),
      shape: lastResult(nodes, uses)?.shape ?? [],
      parameters: counts.parameters.get(layer) ?? 0,
      frozen: counts.frozen.get(layer) ?? 0,
      dtypes: computesIn(nodes),
    }),
  );
  const shown = layers.filter(({ dtypes, parameters, frozen }) => dtypes.length + parameters + frozen > 0);
  return {
    layers: [...shown.filter(({ layer }) => layer !== ""), ...shown.filter(({ layer }) => layer === "")],
    parameters: total(layers, "parameters"),
    frozen: total(layers, "frozen"),
    memory: planMemory(graph, step),
  };
}

function layerLabel(nodes: readonly AnyNode[]): Pick<LayerSummary, "label"> {
  const label = nodes[0]?.origin.label;
  return label === undefined ? {} : { label };
}

type Uses = ReturnType<typeof consumers>;

type Kind = "parameters" | "frozen";

/** Counts the elements of the trained and of the frozen parameters of each layer. */
function countsByLayer(
  graph: Graph,
  uses: Uses,
  { precision }: PlannedStep,
): Readonly<Record<Kind, ReadonlyMap<string, number>>> {
  const counts = { parameters: new Map<string, number>(), frozen: new Map<string, number>() };
  const { weightsAt } = precision.masterWeights;
  const masters = weightsAt === undefined ? "state/master/" : `state/master/${weightsAt}/`;
  const findKind = (name: string): Kind | undefined =>
    name.startsWith(masters) ? "parameters" : name.startsWith("state/frozen/") ? "frozen" : undefined;
  for (const { name, value } of graph.inputs) {
    const kind = findKind(name);
    if (kind === undefined) continue;
    const layer = layerReading(value, uses) ?? "";
    counts[kind].set(layer, (counts[kind].get(layer) ?? 0) + elementCount(value.shape, name));
  }
  return counts;
}

/** The layer of the first forward node, perhaps a cast, that reads a parameter. */
function layerReading(value: Value, uses: Uses): string | undefined {
  const readers = (uses.get(value) ?? []).filter(({ origin }) => origin.phase === "forward");
  return readers[0]?.origin.scope;
}

/** The last result of a layer's nodes that another layer reads; if there is none, the last result. */
function lastResult(nodes: readonly AnyNode[], uses: Uses): Value | undefined {
  const leaves = (node: AnyNode): boolean =>
    node.outputs.some((output) =>
      (uses.get(output) ?? []).some(
        ({ origin }) => origin.phase === "forward" && origin.scope !== node.origin.scope,
      ),
    );
  return (nodes.findLast(leaves) ?? nodes.at(-1))?.outputs[0];
}

const products: ReadonlySet<string> = new Set<string>(PRODUCT_OPS);

function computesIn(nodes: readonly AnyNode[]): readonly DType[] {
  const heavy = nodes.filter(({ op }) => products.has(op));
  const results = nodes.filter(({ op }) => op !== "Cast" && op !== "Constant");
  const dtypes =
    heavy.length > 0
      ? heavy.flatMap(({ inputs }) => inputs[0]?.dtype ?? [])
      : results.flatMap(({ outputs }) => outputs.slice(0, 1).map(({ dtype }) => dtype));
  return [...new Set(dtypes.filter(isFloat))];
}

const total = (layers: readonly LayerSummary[], of: Kind): number =>
  layers.reduce((sum, layer) => sum + layer[of], 0);
