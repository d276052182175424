import { type Graph, isNode } from "@mp/graph";
import { invalid, type OpenSize } from "./export-options.js";

/** The open sizes of one trace, by name. */
export type Sizes = ReadonlyMap<string, number>;

const TRACES = 3;
const MOST_NAMES = 8;

const isFree = ({ terms }: OpenSize): boolean => terms.length === 1;

/** Adds to the free sizes the open sizes that are sums of them. */
const withSums = (open: readonly OpenSize[], free: Sizes): Sizes =>
  new Map(
    open.map(({ name, terms }) => [name, terms.reduce((sum, term) => sum + (free.get(term) ?? NaN), 0)]),
  );

/**
 * Chooses the sizes of each trace; a single trace without sizes if no axis is open. Free sizes are multiples of the
 * given ones. No size is 1, because shapes broadcast. No size is in `taken` or occurs twice among the traces, so that
 * an equal number in a trace must come from that size.
 * @throws MP_INVALID_ARGUMENT for too many names
 */
export function traceSizes(open: readonly OpenSize[], taken: ReadonlySet<number>): readonly Sizes[] {
  if (open.length === 0) return [new Map()];
  if (open.length > MOST_NAMES) invalid(`at most ${MOST_NAMES} names of dynamic axes, got ${open.length}`);
  const used = new Set(taken);
  const unusedSize = ({ size }: OpenSize): number => {
    // Takes the smallest unused multiple, which costs least to trace.
    let traced = 2 * size;
    while (used.has(traced)) traced += size;
    used.add(traced);
    return traced;
  };
  const [free, sums] = [open.filter(isFree), open.filter((each) => !isFree(each))];
  const sizesOfTrace = (): Sizes => {
    const sizes = withSums(open, new Map(free.map((each) => [each.name, unusedSize(each)])));
    const summed = sums.map(({ name }) => sizes.get(name) as number);
    if (summed.some((sum) => used.has(sum))) return sizesOfTrace();
    for (const sum of summed) used.add(sum);
    return sizes;
  };
  return Array.from({ length: TRACES }, sizesOfTrace);
}

/**
 * Further traces to compare. Each changes one free size of the first trace to one that is not a multiple of
 * the given size. If all traced sizes have one parity, the new one has the other. Such sizes reveal paddings
 * that follow from a stride and are equal at all multiples of it. A model need not accept them.
 */
export function unevenSizes(
  open: readonly OpenSize[],
  traced: readonly Sizes[],
  taken: ReadonlySet<number>,
): readonly Sizes[] {
  const [first = new Map<string, number>()] = traced;
  return open.filter(isFree).map(({ name, size }) => {
    const known = traced.map((sizes) => sizes.get(name) as number);
    const used = new Set([...taken, ...traced.flatMap((sizes) => [...sizes.values()])]);
    const withCandidate = (candidate: number): Sizes =>
      withSums(open, new Map([...first, [name, candidate]]));
    const made = open.filter(({ terms }) => terms.includes(name));
    const isUneven = (candidate: number): boolean =>
      made.every((each) => !used.has(withCandidate(candidate).get(each.name) as number)) &&
      (size === 1 || candidate % size !== 0) &&
      (candidate % 2 !== (known[0] as number) % 2 || known.some((each) => each % 2 !== candidate % 2));
    let uneven = 2 * size + 1;
    while (!isUneven(uneven)) uneven++;
    return withCandidate(uneven);
  });
}

/** The open sizes with 1 for every free size. */
export const smallestSizes = (open: readonly OpenSize[]): Sizes =>
  withSums(open, new Map(open.map(({ name }) => [name, 1])));

/** All sizes that occur in the shapes of a graph's values, including values in loops. */
export function sizesIn(graph: Graph): ReadonlySet<number> {
  const inputs = graph.inputs.map(({ value }) => value);
  const made = graph.nodes.flatMap(({ outputs }) => outputs);
  const inner = graph.nodes.flatMap((node) =>
    isNode(node, "Scan") ? [...sizesIn(node.attributes.body)] : [],
  );
  return new Set([...[...inputs, ...made].flatMap(({ shape }) => shape), ...inner]);
}
