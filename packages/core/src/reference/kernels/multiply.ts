import type { FloatStore } from "../store.js";

/** A matrix inside a store: element (row, column) is at `start` + row · `row` + column · `column`. */
export interface MatrixView {
  readonly data: FloatStore;
  readonly start: number;
  readonly row: number;
  readonly column: number;
}

/** Rows of B that are kept close while all rows of A pass over them. */
const BLOCK = 64;

/**
 * c[start + i·n + j] += Σ a(i, p) · b(p, j), p from 0 up. A product is not rounded, each sum is, to what `c` holds:
 * in f32 that is one fused multiply-add a term, and products of halves are exact anyway.
 */
export function multiply(
  c: FloatStore,
  start: number,
  a: MatrixView,
  b: MatrixView,
  m: number,
  k: number,
  n: number,
): void {
  const rows = b.column === 1 ? b : packed(b, k, n);
  for (let from = 0; from < k; from += BLOCK) {
    const to = Math.min(k, from + BLOCK);
    for (let i = 0; i < m; i++) {
      for (let p = from; p < to; p++) {
        const x = a.data[a.start + i * a.row + p * a.column] as number;
        addScaledRow(c, start + i * n, x, rows.data, rows.start + p * rows.row, n);
      }
    }
  }
}

function addScaledRow(
  c: FloatStore,
  start: number,
  x: number,
  row: FloatStore,
  from: number,
  n: number,
): void {
  for (let j = 0; j < n; j++) c[start + j] = (c[start + j] as number) + x * (row[from + j] as number);
}

/** A copy with rows in one piece. */
function packed(b: MatrixView, k: number, n: number): MatrixView {
  const data = b.data instanceof Float64Array ? new Float64Array(k * n) : new Float32Array(k * n);
  for (let p = 0; p < k; p++) {
    for (let j = 0; j < n; j++) data[p * n + j] = b.data[b.start + p * b.row + j * b.column] as number;
  }
  return { data, start: 0, row: n, column: 1 };
}
