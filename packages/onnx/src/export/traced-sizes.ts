import { type Graph, isNode } from "@mp/graph";
import { invalid, type OpenSize } from "./export-options.js";

/** The size of each dynamic axis in one trace, by name. */
export type Sizes = ReadonlyMap<string, number>;

const TRACES = 3;
const MOST_NAMES = 8;

const isFree = ({ terms }: OpenSize): boolean => terms.length === 1;

/** The sizes of all names, sums included, by those of the free ones. */
const withSums = (open: readonly OpenSize[], free: Sizes): Sizes =>
  new Map(
    open.map(({ name, terms }) => [name, terms.reduce((sum, term) => sum + (free.get(term) ?? NaN), 0)]),
  );

/**
 * The sizes of each trace, by name; one trace without any if there are none. Each free one is another multiple of the
 * size given, so none is 1, where shapes broadcast, and none is a size that `taken` has: one that two axes share for
 * different reasons would read as one reason.
 * @throws MP_INVALID_ARGUMENT for too many names
 */
export function traceSizes(open: readonly OpenSize[], taken: ReadonlySet<number>): readonly Sizes[] {
  if (open.length === 0) return [new Map()];
  if (open.length > MOST_NAMES) invalid(`at most ${MOST_NAMES} names of dynamic axes, got ${open.length}`);
  const used = new Set(taken);
  const unusedSize = ({ size }: OpenSize): number => {
    // The smallest, for the least work.
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
 * More sizes to compare with: those of the first trace, each name in turn with one that is no multiple of its size, and
 * of the other parity if the traced ones have the same. Paddings that follow from a stride are equal at multiples of it.
 * A model need not take them.
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

/** One of every free size. */
export const smallestSizes = (open: readonly OpenSize[]): Sizes =>
  withSums(open, new Map(open.map(({ name }) => [name, 1])));

/** The sizes of all values of a graph, also in loops. */
export function sizesIn(graph: Graph): ReadonlySet<number> {
  const inputs = graph.inputs.map(({ value }) => value);
  const made = graph.nodes.flatMap(({ outputs }) => outputs);
  const inner = graph.nodes.flatMap((node) =>
    isNode(node, "Scan") ? [...sizesIn(node.attributes.body)] : [],
  );
  return new Set([...[...inputs, ...made].flatMap(({ shape }) => shape), ...inner]);
}
