// Operands of a dense layer's three products, in numbers that float16 has.
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

export interface Drawing {
  readonly name: string;
  /** Rows and columns are `side` each. */
  draw(side: number, inner: number): Operands;
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

type Change = (numbers: Float32Array, side: number) => Float32Array;

/** Draws a forward product: activations times weights of deviation 1/√inner. */
const forward = (name: string, ofX: Change, ofW: Change): Drawing => ({
  name,
  draw: (side, inner) => ({
    side,
    inner,
    a: inF16(ofX(normal(1, side * inner), side)),
    b: inF16(ofW(normal(3, inner * side), side).map((x) => x / Math.sqrt(inner))),
    isTransposedA: false,
    isTransposedB: false,
  }),
});

/** Draws the product for the weights' gradient: activations times the gradient of the result, over the batch. */
const ofWeights = (name: string, ofX: Change, ofGradient: Change): Drawing => ({
  name,
  draw: (side, inner) => ({
    side,
    inner,
    a: inF16(ofX(normal(5, inner * side), side)),
    b: inF16(ofGradient(normal(7, inner * side), side)),
    isTransposedA: true,
    isTransposedB: false,
  }),
});

const same: Change = (numbers) => numbers;
const positive: Change = (numbers) => numbers.map(Math.abs);
const shift: Change = (numbers) => numbers.map((x) => x + 8);

export const DRAWINGS: readonly Drawing[] = [
  forward("x · w, normal", same, same),
  forward("x · w, both positive", positive, positive),
  forward("x · w, x with mean 8", shift, same),
  {
    name: "dy · wᵀ, normal",
    draw: (side, inner) => {
      const { a, b } = forward("", same, same).draw(side, inner);
      return { side, inner, a, b, isTransposedA: false, isTransposedB: true };
    },
  },
  ofWeights("xᵀ · dy, normal", same, same),
  ofWeights("xᵀ · dy, x with mean 8, dy centered", shift, centerColumns),
];
