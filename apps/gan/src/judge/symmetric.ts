/** A symmetric matrix by rows. */
export type Matrix = readonly Float64Array[];

/**
 * Eigenvalues and eigenvectors (as rows) of a symmetric matrix, by Jacobi's rotations: simple, and exact to rounding for
 * the small matrices here.
 */
export function eigen(matrix: Matrix): { readonly values: Float64Array; readonly vectors: Matrix } {
  const n = matrix.length;
  const a = matrix.map((row) => Float64Array.from(row));
  const vectors = a.map((_, at) =>
    Float64Array.from({ length: n }, (_none, column) => (at === column ? 1 : 0)),
  );
  const at = (row: number, column: number): number => (a[row] as Float64Array)[column] as number;
  const size = Math.hypot(...a.flatMap((row) => [...row]));
  const isDiagonal = (): boolean =>
    a.every((row, i) => row.every((value, j) => i === j || Math.abs(value) <= 1e-14 * size));
  for (let sweep = 0; sweep < 60 && !isDiagonal(); sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        const apart = at(p, q);
        if (apart === 0) continue;
        const theta = (at(q, q) - at(p, p)) / (2 * apart);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1);
        rotate({ a, vectors }, [p, q], [c, t * c]);
      }
    }
  }
  return { values: Float64Array.from(a, (row, i) => row[i] as number), vectors };
}

interface Rotated {
  readonly a: Matrix;
  readonly vectors: Matrix;
}

function rotate(
  { a, vectors }: Rotated,
  [p, q]: readonly [number, number],
  [c, s]: readonly [number, number],
): void {
  const turn = (x: Float64Array, i: number, y: Float64Array, j: number): void => {
    const [before, other] = [x[i] as number, y[j] as number];
    x[i] = c * before - s * other;
    y[j] = s * before + c * other;
  };
  for (const row of a) turn(row, p, row, q);
  const [rowP, rowQ] = [a[p] as Float64Array, a[q] as Float64Array];
  const [vectorP, vectorQ] = [vectors[p] as Float64Array, vectors[q] as Float64Array];
  for (let k = 0; k < rowP.length; k++) {
    turn(rowP, k, rowQ, k);
    turn(vectorP, k, vectorQ, k);
  }
}

/** The square root of a positive semidefinite matrix. Eigenvalues that rounding made negative count as 0. */
export function root(matrix: Matrix): Matrix {
  const { values, vectors } = eigen(matrix);
  return matrix.map((row, i) =>
    row.map((_, j) =>
      vectors.reduce(
        (sum, vector, k) =>
          sum + Math.sqrt(Math.max(0, values[k] as number)) * (vector[i] as number) * (vector[j] as number),
        0,
      ),
    ),
  );
}

export function product(a: Matrix, b: Matrix): Matrix {
  return a.map((row) =>
    Float64Array.from({ length: b[0]?.length ?? 0 }, (_, j) =>
      row.reduce((sum, value, k) => sum + value * ((b[k] as Float64Array)[j] as number), 0),
    ),
  );
}
