import type { FloatStore } from "../elements/store.js";

/** A matrix inside a store: its element (i, j) is at `start` + i · `row` + j · `column`. */
export interface MatrixView {
  readonly data: FloatStore;
  readonly start: number;
  readonly row: number;
  readonly column: number;
}

/** Number of rows of B that stay in the cache while all rows of A use them. */
const BLOCK = 64;

/**
 * Computes c[start + i·n + j] += Σ a(i, p) · b(p, j), p from 0 up. Products are not rounded; each sum is rounded to the
 * precision of `c`. In f32 that is one fused multiply-add per term; products of f16 or bf16 numbers are exact anyway.
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
  const rows = b.column === 1 ? b : packColumns(b, k, n);
  for (let from = 0; from < k; from += BLOCK) {
    const to = Math.min(k, from + BLOCK);
    for (let i = 0; i < m; i++) {
      let p = from;
      if (c instanceof Float32Array && rows.data instanceof Float32Array) {
        for (; p + 4 <= to; p += 4) {
          addFourRows(c, start + i * n, a, a.start + i * a.row + p * a.column, rows.data, rows, p, n);
        }
      }
      for (; p < to; p++) {
        const x = a.data[a.start + i * a.row + p * a.column] as number;
        addScaledRow(c, start + i * n, x, rows.data, rows.start + p * rows.row, n);
      }
    }
  }
}

/** Adds one scaled row to a row of the result. Storing in `c` rounds each sum. */
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

/**
 * Does `addScaledRow` four times in half the time, with c in a register. The bits are the same, since storing in a
 * Float32Array rounds as fround does.
 */
function addFourRows(
  c: Float32Array,
  start: number,
  a: MatrixView,
  at: number,
  data: Float32Array,
  rows: MatrixView,
  p: number,
  n: number,
): void {
  const x0 = a.data[at] as number;
  const x1 = a.data[at + a.column] as number;
  const x2 = a.data[at + 2 * a.column] as number;
  const x3 = a.data[at + 3 * a.column] as number;
  const r0 = rows.start + p * rows.row;
  const r1 = r0 + rows.row;
  const r2 = r1 + rows.row;
  const r3 = r2 + rows.row;
  for (let j = 0; j < n; j++) {
    const c1 = Math.fround((c[start + j] as number) + x0 * (data[r0 + j] as number));
    const c2 = Math.fround(c1 + x1 * (data[r1 + j] as number));
    const c3 = Math.fround(c2 + x2 * (data[r2 + j] as number));
    c[start + j] = c3 + x3 * (data[r3 + j] as number);
  }
}

/** A copy of B with contiguous rows. */
function packColumns(b: MatrixView, k: number, n: number): MatrixView {
  const data = b.data instanceof Float64Array ? new Float64Array(k * n) : new Float32Array(k * n);
  for (let p = 0; p < k; p++) {
    for (let j = 0; j < n; j++) data[p * n + j] = b.data[b.start + p * b.row + j * b.column] as number;
  }
  return { data, start: 0, row: n, column: 1 };
}
