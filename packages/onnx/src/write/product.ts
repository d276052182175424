/** The product of sizes: a shape's number of elements. */
export const product = (sizes: readonly number[]): number => sizes.reduce((result, size) => result * size, 1);
