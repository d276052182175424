// Operands of a dense layer's three products, with values that float16 holds exactly.
import { roundTo } from "@mp/core/graph";
import { uniformValues } from "../workloads/hash-values.js";

/** Matrices to multiply: a of [rows, inner] and b of [inner, columns], each stored as it is or transposed. */
export interface Operands {
  readonly side: number;
  readonly inner: number;
  readonly a: Float32Array;
  readonly b: Float32Array;
  readonly isTransposedA: boolean;
  readonly isTransposedB: boolean;
}

type Change = (numbers: Float32Array, side: number) => Float32Array;

/** How operands are drawn: normally distributed numbers, then changed by `changeA` and `changeB`. */
export interface Drawing {
  readonly name: string;
  readonly seed: number;
  readonly changeA: Change;
  readonly changeB: Change;
  /** True for the weights' gradient, where `a` is activations and `b` gradients. Otherwise `b` is weights. */
  readonly isTransposedA?: boolean;
  readonly isTransposedB?: boolean;
}

/** Normally distributed numbers by Box and Muller's method, with mean 0 and deviation 1. */
function normal(seed: number, size: number): Float32Array {
  const [u, v] = [uniformValues(seed, size, 0.5), uniformValues(seed + 1, size, Math.PI)];
  return u.map((x, index) => Math.sqrt(-2 * Math.log(x + 0.5 + 2 ** -25)) * Math.cos(v[index] as number));
}

const inF16 = (numbers: Float32Array): Float32Array => numbers.map((x) => roundTo("f16", x));

/** Subtracts each column's mean from a matrix [inner, columns], as gradients before a normalization have mean 0. */
function centerColumns(numbers: Float32Array, columns: number): Float32Array {
  const rows = numbers.length / columns;
  const means = new Float64Array(columns);
  numbers.forEach((x, index) => {
    means[index % columns] = (means[index % columns] as number) + x / rows;
  });
  return numbers.map((x, index) => x - (means[index % columns] as number));
}

/** Draws operands for a product of `side` rows and columns: weights of deviation 1/√inner, others of 1. */
export function drawOperands(drawing: Drawing, side: number, inner: number): Operands {
  const { seed, changeA, changeB, isTransposedA = false, isTransposedB = false } = drawing;
  const scale = isTransposedA ? 1 : Math.sqrt(inner);
  return {
    side,
    inner,
    a: inF16(changeA(normal(seed, side * inner), side)),
    b: inF16(changeB(normal(seed + 2, inner * side), side).map((x) => x / scale)),
    isTransposedA,
    isTransposedB,
  };
}

const same: Change = (numbers) => numbers;
const positive: Change = (numbers) => numbers.map(Math.abs);
const shift: Change = (numbers) => numbers.map((x) => x + 8);
const unchanged = { changeA: same, changeB: same };
const ofWeights = { seed: 5, isTransposedA: true };

export const DRAWINGS: readonly Drawing[] = [
  { name: "x · w, normal", seed: 1, ...unchanged },
  { name: "x · w, both positive", seed: 1, changeA: positive, changeB: positive },
  { name: "x · w, x with mean 8", seed: 1, changeA: shift, changeB: same },
  { name: "dy · wᵀ, normal", seed: 1, ...unchanged, isTransposedB: true },
  { name: "xᵀ · dy, normal", ...ofWeights, ...unchanged },
  { name: "xᵀ · dy, x with mean 8, dy centered", ...ofWeights, changeA: shift, changeB: centerColumns },
];
