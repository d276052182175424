import { isFloat, isHalf } from "../dtype.js";
import { GraphBuilder } from "../graph/build/builder.js";
import { GraphCopy } from "../graph/build/graph-copy.js";
import { FAMILIES } from "../graph/families.js";
import { type AnyNode, type Graph, producers, type Value } from "../graph/graph.js";
import { unrollScans } from "../graph/scan/unroll.js";
import { poison } from "../trace/ops/finite.js";
import { concat, reshape } from "../trace/ops/movement.js";
import { Tensor } from "../trace/tensor.js";
import { withBuilder, withoutLines } from "../trace/trace.js";

/** A probed value: a graph input, or an output of a node. */
export interface Probe {
  readonly input?: string;
  readonly node?: AnyNode;
  readonly value: Value;
}

/** The probed values and their dependencies. */
export interface Probes {
  /** The original graph with its scans unrolled, to which the probed values belong. */
  readonly graph: Graph;
  /** All probes, in the order in which their values are computed. */
  readonly all: readonly Probe[];
  /** For each probe, the positions of the probes that its value is computed from. */
  readonly sources: readonly (readonly number[])[];
  /** Positions of the probes that the requested results are computed from, directly or through a comparison. */
  readonly results: readonly number[];
}

/**
 * Replaces the outputs of a graph by one output: `poison`, f32 [probes], 0 where the value is finite throughout and
 * NaN where it is not. `results` are names of outputs of the original graph.
 */
export function instrumentFinite(
  looped: Graph,
  results: readonly string[],
): { readonly graph: Graph; readonly probes: Probes } {
  const graph = unrollScans(looped);
  const builder = new GraphBuilder();
  const copy = new GraphCopy(graph, builder);
  copy.copyInputs();
  const all: Probe[] = graph.inputs
    .filter(({ value }) => isFloat(value.dtype))
    .map(({ name, value }) => ({ input: name, value }));
  for (const node of graph.nodes) {
    copy.copy(node);
    if (node.op === "Constant") continue;
    for (const value of node.outputs) if (isFloat(value.dtype)) all.push({ node, value });
  }
  const flags = withBuilder(builder, () =>
    withoutLines(() =>
      concat(all.map(({ value }) => reshape(poison(Tensor.of(copy.counterpart(value))), [1]))),
    ),
  );
  const asked = graph.outputs.filter(({ name }) => results.includes(name)).map(({ value }) => value);
  return {
    graph: builder.finish({ poison: Tensor.valueIn(flags, builder, "probe") }),
    probes: { graph, all, ...findPaths(graph, all, asked) },
  };
}

function findPaths(
  graph: Graph,
  probes: readonly Probe[],
  results: readonly Value[],
): Pick<Probes, "sources" | "results"> {
  const positions = new Map(probes.map(({ value }, position) => [value, position]));
  const makers = producers(graph);
  /** The nearest probes that the values are computed from; a value that is itself a probe counts as its own. */
  const nearest = (values: readonly Value[]): readonly number[] => {
    const found = new Set<number>();
    const seen = new Set(values);
    for (const value of seen) {
      const position = positions.get(value);
      if (position !== undefined) found.add(position);
      else for (const input of makers.get(value)?.inputs ?? []) seen.add(input);
    }
    return [...found];
  };
  // A comparison stops a non-finite value: an operand that is not a float propagates nothing.
  const direct = (values: readonly Value[]): readonly number[] =>
    values.map((value) => positions.get(value)).filter((position) => position !== undefined);
  return {
    sources: probes.map(({ node }) => direct(node?.inputs ?? [])),
    results: nearest(results),
  };
}

/**
 * The first non-finite value (in the order of `all`) that leads to a result through non-finite values. A non-finite
 * value that does not propagate is intended: a mask of -∞ ends in the softmax that reads it.
 */
export function firstCulprit(
  { all, sources, results }: Probes,
  finite: (position: number) => boolean,
): Probe | undefined {
  const leading = new Set(results.filter((position) => !finite(position)));
  for (const position of leading) {
    for (const source of sources[position] ?? []) if (!finite(source)) leading.add(source);
  }
  return leading.size === 0 ? undefined : all[Math.min(...leading)];
}

/** Names of the graph inputs whose elements a cast to a half reads, also after moves; none for other operators. */
export function castInputs({ graph }: Probes, { node, value }: Probe): readonly string[] {
  if (node?.op !== "Cast" || !isHalf(value.dtype)) return [];
  const made = producers(graph);
  const values = new Set<Value>([value]);
  for (const each of values) {
    const maker = made.get(each);
    if (maker !== undefined && MOVES.includes(maker.op)) for (const input of maker.inputs) values.add(input);
  }
  return graph.inputs.filter((input) => values.has(input.value)).map(({ name }) => name);
}

const MOVES: readonly string[] = ["Cast", ...FAMILIES.movement];
