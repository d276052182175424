// Add, Sub, Mul and Div have separate loops. In a shared loop, a call per element would cost several times the
// arithmetic, since JavaScript engines cannot inline the many functions of one loop.
import type { NumberStore } from "../elements/store.js";

/** Computes out[at + k] = x[i + k·di] ∘ y[j + k·dj] for all k below `length`. */
export type ArithmeticLoop = (
  x: NumberStore,
  i: number,
  di: number,
  y: NumberStore,
  j: number,
  dj: number,
  out: NumberStore,
  at: number,
  length: number,
) => void;

export const addLoop: ArithmeticLoop = (x, i, di, y, j, dj, out, at, length) => {
  let p = i;
  let q = j;
  const end = at + length;
  for (let k = at; k < end; k++, p += di, q += dj) out[k] = (x[p] as number) + (y[q] as number);
};

export const subLoop: ArithmeticLoop = (x, i, di, y, j, dj, out, at, length) => {
  let p = i;
  let q = j;
  const end = at + length;
  for (let k = at; k < end; k++, p += di, q += dj) out[k] = (x[p] as number) - (y[q] as number);
};

export const mulLoop: ArithmeticLoop = (x, i, di, y, j, dj, out, at, length) => {
  let p = i;
  let q = j;
  const end = at + length;
  for (let k = at; k < end; k++, p += di, q += dj) out[k] = (x[p] as number) * (y[q] as number);
};

export const divLoop: ArithmeticLoop = (x, i, di, y, j, dj, out, at, length) => {
  let p = i;
  let q = j;
  const end = at + length;
  for (let k = at; k < end; k++, p += di, q += dj) out[k] = (x[p] as number) / (y[q] as number);
};
