/** The number of elements of a shape. */
export const product = (sizes: readonly number[]): number => sizes.reduce((result, size) => result * size, 1);
