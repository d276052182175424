import { floatFormats, isFloat, isHalf } from "../dtype.js";
import { GraphBuilder } from "../graph/build/builder.js";
import { GraphCopy } from "../graph/build/graph-copy.js";
import { FAMILIES } from "../graph/families.js";
import { type AnyNode, type Graph, producers, type Value } from "../graph/graph.js";
import { unrollScans } from "../graph/scan/unroll.js";
import { lessOrEqual, where } from "../trace/ops/binary.js";
import { poison } from "../trace/ops/finite.js";
import { concat, reshape } from "../trace/ops/movement.js";
import { reduceMax } from "../trace/ops/reduce.js";
import { abs, cast } from "../trace/ops/unary.js";
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

/** The outputs of an instrumented graph besides `poison`, and how it computes nodes in f16 and bf16. */
export interface Instruments {
  /** Names of the outputs that a non-finite value must reach to count. */
  readonly results: readonly string[];
  /** Names of the outputs that are kept. */
  readonly kept?: readonly string[];
  /**
   * Emits a node, with operands and results of half dtypes in f32. If given, the output `largest` has the largest
   * finite magnitude of each probe.
   */
  readonly widen?: (builder: GraphBuilder, node: AnyNode, inputs: readonly Value[]) => readonly Value[];
}

/**
 * Replaces the outputs of a graph: `poison`, f32 [probes], is 0 for a value with only finite elements and NaN for
 * others.
 */
export function instrument(
  looped: Graph,
  { results, kept = [], widen }: Instruments,
): { readonly graph: Graph; readonly probes: Probes } {
  const graph = unrollScans(looped);
  const builder = new GraphBuilder();
  const copy = new GraphCopy(graph, builder);
  copy.copyInputs();
  const all: Probe[] = graph.inputs
    .filter(({ value }) => isFloat(value.dtype))
    .map(({ name, value }) => ({ input: name, value }));
  if (widen !== undefined)
    for (const { value } of graph.inputs.filter(({ value }) => isHalf(value.dtype)))
      copy.values.set(value, builder.emitOne("Cast", [copy.counterpart(value)], { to: "f32" }));
  for (const node of graph.nodes) {
    if (widen !== undefined) copy.replace(node, widen(builder, node, copy.counterparts(node.inputs)));
    else copy.copy(node);
    if (node.op === "Constant") continue;
    for (const value of node.outputs) if (isFloat(value.dtype)) all.push({ node, value });
  }
  const collect = (measure: (x: Tensor) => Tensor): Value => {
    const measured = all.map(({ value }) => reshape(measure(Tensor.of(copy.counterpart(value))), [1]));
    return Tensor.valueIn(concat(measured), builder, "probe");
  };
  const outputs = graph.outputs
    .filter(({ name }) => kept.includes(name))
    .map(({ name, value }) => [name, copy.counterpart(value)] as const);
  const measured = withBuilder(builder, () =>
    withoutLines(() => ({
      poison: collect(poison),
      ...(widen === undefined ? {} : { largest: collect(largestFinite) }),
    })),
  );
  const asked = graph.outputs.filter(({ name }) => results.includes(name)).map(({ value }) => value);
  return {
    graph: builder.finish({ ...Object.fromEntries(outputs), ...measured }),
    probes: { graph, all, ...findPaths(graph, all, asked) },
  };
}

/** The largest magnitude of the finite elements, f32 scalar; 0 if there are none. */
function largestFinite(x: Tensor): Tensor {
  const magnitude = abs(cast(x, "f32"));
  // Comparisons with NaN are false.
  return x.shape.includes(0)
    ? poison(x)
    : reduceMax(where(lessOrEqual(magnitude, floatFormats.f32.maxFinite), magnitude, 0));
}

function findPaths(
  graph: Graph,
  probes: readonly Probe[],
  results: readonly Value[],
): Pick<Probes, "sources" | "results"> {
  const positions = new Map(probes.map(({ value }, position) => [value, position]));
  const makers = producers(graph);
  /** The nearest probes that the values are computed from; a probed value is its own nearest probe. */
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
  // A comparison stops a non-finite value, because an operand that is not a float propagates nothing.
  const direct = (values: readonly Value[]): readonly number[] =>
    values.map((value) => positions.get(value)).filter((position) => position !== undefined);
  return {
    sources: probes.map(({ node }) => direct(node?.inputs ?? [])),
    results: nearest(results),
  };
}

/**
 * The first non-finite value (in the order of `all`) that leads to a result through non-finite values. A non-finite
 * value that does not propagate counts as intended. For example, a mask of -∞ ends in the softmax that reads it.
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

/** Names of the graph inputs that a cast to a half dtype reads, directly or after moves; none for other operators. */
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
