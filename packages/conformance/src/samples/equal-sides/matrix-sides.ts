import type { Shape } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { generated, hostData, randomData } from "../../host-data.js";
import type { GeneratedRows } from "../generated-row.js";
import { exact, positives, sample } from "../op-sample.js";
import { choices, cube, drawsOf, permutations } from "./side-data.js";

const SIDES = [2, 3, 4];

/** Vectors, matrices and batches whose size is that of the matrices, shared by all or broadcast. */
const products = (n: number): readonly (readonly [Shape, Shape])[] => [
  [[n, n], [n, n]],
  [[n], [n, n]],
  [[n, n], [n]],
  [[n, n, n], [n, n, n]],
  [[n, n, n], [n, n]],
  [[n, n], [n, n, n]],
  [[n], [n, n, n]],
  [[n, n, n], [n]],
  [[n, 1, n, n], [n, n, n]],
  [[1, n, n, n], [n, 1, n, n]],
  [[n, n, n, n], [n, n, n, n]],
  [[n, n, 1, n], [n, 1, n, n]],
]; // biome-ignore format: one pair a line

const added = (n: number): readonly (readonly Shape[])[] => [[], [[n]], [[n, 1]], [[1, n]], [[n, n]]];
const booleans = [false, true];

const written = (letters: string, order: readonly number[]): string =>
  order.map((at) => letters[at]).join("");

/** Every order of the letters of each operand and of the result, of products of matrices and of batches. */
const EQUATIONS: readonly (readonly [equation: string, ranks: readonly number[]])[] = [
  ...permutations(2).flatMap((a) =>
    permutations(2).flatMap((b) =>
      permutations(2).map(
        (y) => [`${written("ij", a)},${written("jk", b)}->${written("ik", y)}`, [2, 2]] as const,
      ),
    ),
  ),
  ...permutations(3).flatMap((a) =>
    permutations(3).map((y) => [`${written("bij", a)},bjk->${written("bik", y)}`, [3, 3]] as const),
  ),
  ...permutations(3).flatMap((b) =>
    permutations(3).map((y) => [`bij,${written("bjk", b)}->${written("bik", y)}`, [3, 3]] as const),
  ),
  ...permutations(3).map((y) => [`ijk->${written("ijk", y)}`, [3]] as const),
  ...choices(["i", "j", "k"]).map((kept) => [`ijk->${kept.join("")}`, [3]] as const),
  ["bqhd,bkhd->bhqk", [4, 4]],
  ["bhqk,bkhd->bqhd", [4, 4]],
  ["bhqd,bhkd->bhqk", [4, 4]],
  ["ij,ij->ji", [2, 2]],
  ["ij,ji->i", [2, 2]],
  ["ij,ji->j", [2, 2]],
  ["i,j->ji", [1, 1]],
  ["ij,j->ij", [2, 1]],
  ["ij,i->ij", [2, 1]],
  ["ii->i", [2]],
  ["iij->j", [3]],
  ["iji->j", [3]],
  ["ij,jk,kl->li", [2, 2, 2]],
  ["ij,kj,lk->il", [2, 2, 2]],
  ["...ij,...kj->...ki", [3, 3]],
  ["ijk,i->jk", [3, 1]],
  ["ijk,j->ki", [3, 1]],
  ["ijk,k->ji", [3, 1]],
];

export const matrixSides: GeneratedRows<OpOf<"matrix">> = {
  MatMul: (dtype, random) => {
    const { summed } = drawsOf(random, dtype);
    return SIDES.flatMap((n) => products(n).map(([a, b]) => exact<"MatMul">({}, summed(a), summed(b))));
  },
  Gemm: (dtype, random) => {
    const { summed } = drawsOf(random, dtype);
    return SIDES.flatMap((n) =>
      booleans.flatMap((transA) =>
        booleans.flatMap((transB) =>
          added(n).map((c, at) =>
            exact<"Gemm">(
              { transA, transB, alpha: at % 2 === 0 ? 1 : 2, beta: at % 3 === 0 ? 2 : 1 },
              summed([n, n]),
              summed([n, n]),
              ...c.map(summed),
            ),
          ),
        ),
      ),
    );
  },
  Einsum: (dtype, random) => {
    const { summed } = drawsOf(random, dtype);
    return EQUATIONS.map(([equation, ranks], at) => {
      const n = 2 + (at % 2);
      return exact<"Einsum">({ equation }, ...ranks.map((rank) => summed(cube(n, rank))));
    });
  },
};

/** The shapes of masks of batch = heads = queries = keys. */
const masks = (n: number): readonly Shape[] => [
  [n, n],
  [1, n],
  [n, n, n],
  [n, 1, n],
  [1, n, n],
  [1, 1, n],
  [n, n, n, n],
  ...choices([0, 1, 2]).map((ones) => cube(n, 4).map((side, axis) => (ones.includes(axis) ? 1 : side))),
];

export const attentionSides: GeneratedRows<OpOf<"attention">> = {
  Attention: (dtype, random) =>
    SIDES.flatMap((n) => {
      const of = (heads: number, isCausal: boolean, mask?: Shape, isAdded = false) => {
        const parts = [
          randomData(random, dtype, cube(n, 4), -2, 2),
          randomData(random, dtype, [n, heads, n, n], -2, 2),
          positives(random, dtype, [n, heads, n, n]),
        ];
        const attributes = { scale: 0.5, isCausal, softcap: 0 };
        if (mask === undefined) return sample<"Attention">(attributes, ...parts);
        // The first key is never masked: every query attends to something.
        const bits = generated("bool", mask, (at) => (at % n === 0 ? 1 : random.integer(0, 1)));
        const sums = Array.from(bits.data as Uint8Array, (bit) =>
          bit === 0 ? Number.NEGATIVE_INFINITY : random.between(-2, 2),
        );
        return sample<"Attention">(attributes, ...parts, isAdded ? hostData("f32", sums, mask) : bits);
      };
      return [
        of(n, false),
        of(n, true),
        of(1, false),
        ...(n === 4 ? [of(2, false), of(2, true, [4, 4])] : []),
        ...masks(n).flatMap((mask, at) =>
          n === 3 || at % 3 === 0 ? [of(n, at % 5 === 4, mask, at % 2 === 1)] : [],
        ),
      ];
    }),
};
