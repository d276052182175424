import { MpError } from "@mp/core";
import { type Graph, isNode } from "@mp/core/graph";
import type { OpenSize } from "./export-options.js";

/** The size of each dynamic axis in one trace, by name. */
export type Sizes = ReadonlyMap<string, number>;

const TRACES = 3;
const MOST_NAMES = 8;

/**
 * The sizes of each trace, by name; one trace without any if there are none. Each is another multiple of the size given,
 * so none is 1, where shapes broadcast, and none is a size that `taken` has: one that two axes share for different
 * reasons would read as one reason.
 * @throws MP_INVALID_ARGUMENT for too many names
 */
export function tracedSizes(open: readonly OpenSize[], taken: ReadonlySet<number>): readonly Sizes[] {
  if (open.length === 0) return [new Map()];
  if (open.length > MOST_NAMES)
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `exportOnnx: at most ${MOST_NAMES} names of dynamic axes, got ${open.length}`,
    );
  const used = new Set(taken);
  const sizeOf = ({ size }: OpenSize): number => {
    // The smallest, for the least work.
    let traced = 2 * size;
    while (used.has(traced)) traced += size;
    used.add(traced);
    return traced;
  };
  return Array.from({ length: TRACES }, () => new Map(open.map((each) => [each.name, sizeOf(each)])));
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
  return open.map(({ name, size }) => {
    const known = traced.map((sizes) => sizes.get(name) as number);
    const used = new Set([...taken, ...traced.flatMap((sizes) => [...sizes.values()])]);
    const isUneven = (candidate: number): boolean =>
      !used.has(candidate) &&
      (size === 1 || candidate % size !== 0) &&
      (candidate % 2 !== (known[0] as number) % 2 || known.some((each) => each % 2 !== candidate % 2));
    let uneven = 2 * size + 1;
    while (!isUneven(uneven)) uneven++;
    return new Map([...first, [name, uneven]]);
  });
}

/** One of every open axis. */
export const smallestSizes = (open: readonly OpenSize[]): Sizes => new Map(open.map(({ name }) => [name, 1]));

/** The sizes of all values of a graph, also in loops. */
export function sizesIn(graph: Graph): ReadonlySet<number> {
  const inputs = graph.inputs.map(({ value }) => value);
  const made = graph.nodes.flatMap(({ outputs }) => outputs);
  const inner = graph.nodes.flatMap((node) =>
    isNode(node, "Scan") ? [...sizesIn(node.attributes.body)] : [],
  );
  return new Set([...[...inputs, ...made].flatMap(({ shape }) => shape), ...inner]);
}
