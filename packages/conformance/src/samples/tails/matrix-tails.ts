import type { DType, HostTensor, Shape } from "@mp/core";
import type { OpAttributes, OpOf } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRows } from "../generated-row.js";
import { exact, type OpSample } from "../op-sample.js";
import { formAt, lengthsOf, terms, triplesOf } from "./tail-data.js";

type Sizes = readonly [rows: number, inner: number, columns: number];

/** Factors whose products are summed; 1 and 2, so that halves hold every sum. */
const factors =
  (random: RandomSource, dtype: DType) =>
  (shape: Shape): HostTensor =>
    terms(random, dtype, shape, 2);

/** One long side: of the sum, of the rows, and of the columns. */
const LONG: readonly ((length: number) => Sizes)[] = [
  (n) => [2, n, 3],
  (n) => [n, 3, 2],
  (n) => [2, 3, n],
  (n) => [1, n, 1],
  (n) => [n, 2, 1],
  (n) => [1, 2, n],
];

const sizesOf = (dtype: DType): readonly Sizes[] => [
  ...triplesOf(dtype),
  ...lengthsOf(dtype).map((length) => formAt(LONG, length)(length)),
];

/** Vectors, and batches that are shared or broadcast. */
const BATCHES: readonly ((sizes: Sizes) => readonly [a: Shape, b: Shape])[] = [
  ([m, k, n]) => [[m, k], [k, n]],
  ([m, k]) => [[m, k], [k]],
  ([m, k, n]) => [[2, m, k], [2, k, n]],
  ([, k, n]) => [[k], [k, n]],
  ([m, k, n]) => [[2, m, k], [k, n]],
  ([, k]) => [[k], [k]],
  ([m, k, n]) => [[m, k], [2, k, n]],
]; // biome-ignore format: one form a line

const TRANSPOSED: readonly Pick<OpAttributes["Gemm"], "transA" | "transB">[] = [
  { transA: false, transB: false },
  { transA: false, transB: true },
  { transA: true, transB: false },
  { transA: true, transB: true },
];

const ADDED: readonly ((m: number, n: number) => readonly Shape[])[] = [
  () => [],
  (_, n) => [[n]],
  (m) => [[m, 1]],
  (m, n) => [[m, n]],
  () => [[]],
];

const EQUATIONS: readonly (readonly [string, (sizes: Sizes) => readonly Shape[]])[] = [
  ["ij,jk->ik", ([m, k, n]) => [[m, k], [k, n]]],
  ["ij,kj->ki", ([m, k, n]) => [[m, k], [n, k]]],
  ["ji,jk->ik", ([m, k, n]) => [[k, m], [k, n]]],
  ["bij,bjk->bik", ([m, k, n]) => [[2, m, k], [2, k, n]]],
  ["ibj,bkj->bki", ([m, k, n]) => [[m, 2, k], [2, n, k]]],
  ["ij->j", ([m, k]) => [[m, k]]],
  ["ij->i", ([, k, n]) => [[k, n]]],
  ["i,j->ji", ([m, , n]) => [[m], [n]]],
  ["ij,ij->j", ([m, k]) => [[m, k], [m, k]]],
  ["ij,j->i", ([m, k]) => [[m, k], [k]]],
  ["ij->ji", ([m, k]) => [[m, k]]],
]; // biome-ignore format: one equation a line

const rotating = <T>(forms: readonly T[], at: number): T => forms[at % forms.length] as T;

export const matrixTails: GeneratedRows<OpOf<"matrix">> = {
  MatMul: (dtype, random) => {
    const draw = factors(random, dtype);
    const of = ([a, b]: readonly [Shape, Shape]) => exact<"MatMul">({}, draw(a), draw(b));
    return sizesOf(dtype).map((sizes, at) => of(rotating(BATCHES, at)(sizes)));
  },
  Gemm: (dtype, random) => {
    const draw = factors(random, dtype);
    const of = (at: number, [m, k, n]: Sizes): OpSample<"Gemm"> => {
      const attributes = rotating(TRANSPOSED, at);
      const a = draw(attributes.transA ? [k, m] : [m, k]);
      const b = draw(attributes.transB ? [n, k] : [k, n]);
      const c = rotating(ADDED, at)(m, n).map(draw);
      return exact<"Gemm">({ ...attributes, alpha: 1, beta: at % 3 === 0 ? 2 : 1 }, a, b, ...c);
    };
    return sizesOf(dtype).map((sizes, at) => of(at, sizes));
  },
  Einsum: (dtype, random) => {
    const draw = factors(random, dtype);
    return sizesOf(dtype).map((sizes, at) => {
      const [equation, shapes] = rotating(EQUATIONS, at);
      return exact<"Einsum">({ equation }, ...shapes(sizes).map(draw));
    });
  },
};
