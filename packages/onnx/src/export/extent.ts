import type { OpenSize } from "./export-options.js";
import type { Sizes } from "./traced-sizes.js";

/** A number that depends on open sizes: the product of one or two of them and a constant factor. */
export interface Extent {
  readonly sizes: readonly OpenSize[];
  readonly factor: number;
}

/**
 * Finds one or two open sizes and a constant factor whose product is `values[i]` with the sizes of `traces[i]`, for
 * every i; undefined if there are none.
 */
export function findExtent(
  values: readonly number[],
  open: readonly OpenSize[],
  traces: readonly Sizes[],
): Extent | undefined {
  const singles = open.map((size): readonly OpenSize[] => [size]);
  const pairs = open.flatMap((a, at) => open.slice(at).map((b): readonly OpenSize[] => [a, b]));
  for (const sizes of [...singles, ...pairs]) {
    const factors = values.map(
      (value, trace) =>
        value / sizes.reduce<number>((product, { name }) => product * (traces[trace]?.get(name) ?? NaN), 1),
    );
    const [factor = 0] = factors;
    if (Number.isSafeInteger(factor) && factor > 0 && factors.every((each) => each === factor))
      return { sizes, factor };
  }
  return undefined;
}

/** The name of an extent in a declared shape. Only a single open size has one; others have an empty name. */
export const declaredName = ({ sizes, factor }: Extent): string =>
  sizes.length === 1 && factor === 1 ? (sizes[0]?.name ?? "") : "";
