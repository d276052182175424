import type { OpenSize } from "./export-options.js";
import type { Sizes } from "./traced-sizes.js";

/** A number that follows from open sizes: their product times a constant factor. */
export interface Extent {
  readonly sizes: readonly OpenSize[];
  readonly factor: number;
}

/** Finds the extent that has these values in the traces: a multiple of one size, or of two such as batch × time. */
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

/** The extent's name in a declared shape; empty for a product or multiple of sizes. */
export const declaredName = ({ sizes, factor }: Extent): string =>
  sizes.length === 1 && factor === 1 ? (sizes[0]?.name ?? "") : "";
