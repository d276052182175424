import { eigen, type Matrix, product, root } from "./symmetric.js";

/**
 * The Fréchet distance between two sets of features, each taken as a normal distribution (Heusel et al., arXiv
 * 1706.08500): ‖μ₁ - μ₂‖² + tr(C₁ + C₂ - 2 (C₁ C₂)^½). 0 for equal sets; larger is worse.
 */
export function frechetDistance(a: readonly Float64Array[], b: readonly Float64Array[]): number {
  const [one, two] = [fitNormal(a), fitNormal(b)];
  const apart = one.mean.reduce((sum, value, at) => sum + (value - (two.mean[at] as number)) ** 2, 0);
  const half = root(one.covariance);
  // √C₁ C₂ √C₁ has the eigenvalues of C₁ C₂, and is symmetric.
  const { values } = eigen(product(product(half, two.covariance), half));
  const shared = values.reduce((sum, value) => sum + Math.sqrt(Math.max(0, value)), 0);
  return apart + trace(one.covariance) + trace(two.covariance) - 2 * shared;
}

const trace = (matrix: Matrix): number => matrix.reduce((sum, row, at) => sum + (row[at] as number), 0);

function fitNormal(set: readonly Float64Array[]): {
  readonly mean: Float64Array;
  readonly covariance: Matrix;
} {
  const [first = new Float64Array()] = set;
  const mean = first.map((_, at) => set.reduce((sum, each) => sum + (each[at] as number), 0) / set.length);
  const centered = set.map((each) => each.map((value, at) => value - (mean[at] as number)));
  const covariance = Array.from(mean, (_, i) =>
    mean.map(
      (_none, j) =>
        centered.reduce((sum, each) => sum + (each[i] as number) * (each[j] as number), 0) /
        Math.max(1, set.length - 1),
    ),
  );
  return { mean, covariance };
}
