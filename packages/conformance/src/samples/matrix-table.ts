/** Matrix products: orders of axes, equations of Einsum, options of Gemm. */
import { type DType, type HostTensor, isFloat, type OpAttributes, type OpOf, type Shape } from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData } from "../host-data.js";
import { broadcastPairs, choices, cube, permutations } from "./axis-data.js";
import { farEinsum, farGemm, farMatMul } from "./far-rows.js";
import { type GradientSample, gradient, spread, twice } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { exact, type OpSample, positives, sample, smallIntegers } from "./op-sample.js";
import { setting } from "./setting.js";
import { whole } from "./size-data.js";
import { subnormalsPlusOthers, subnormalsTimesOne } from "./subnormals.js";
import { formAt, lengths, sideTriples, terms } from "./tail-data.js";

const PRODUCTS: readonly (readonly [Shape, Shape])[] = [
  [[2, 3], [3, 4]],
  [[1, 1], [1, 1]],
  [[3], [3]],
  [[3], [3, 4]],
  [[2, 3], [3]],
  [[5, 2, 3], [3, 4]],
  [[2, 1, 3, 4], [5, 4, 2]],
  [[2, 3, 4], [2, 4, 5]],
  [[3], [2, 3, 4]],
  [[17, 33], [33, 9]],
  [[2, 0], [0, 3]],
  [[0], [0]],
  [[0], [0, 3]],
  [[2, 0], [0]],
  [[2, 4, 0], [0, 3]],
  [[2, 1, 4, 0], [3, 0, 2]],
  [[0, 2, 3], [3, 2]],
  [[0, 2, 3], [0, 3, 2]],
  [[2, 0, 3], [2, 3, 2]],
  [[0, 0], [0, 0]],
  [[0, 3], [3, 2]],
  [[3, 2], [2, 0]],
]; // biome-ignore format: one pair a line

const INFINITE = Number.POSITIVE_INFINITY;

/** Ones with NaN and infinities in some rows. Only results of these rows are non-finite. */
function nonFinite(dtype: DType): readonly HostTensor[] {
  const left = [1, 2, 3, Number.NaN, 1, 1, INFINITE, 1, 1, -INFINITE, INFINITE, 1, INFINITE, 0, 1];
  const right = [1, 2, 1, 0, 1, 1];
  return [hostData(dtype, left, [5, 3]), hostData(dtype, right, [3, 2])];
}

const gemmAttributes = (given: Partial<OpAttributes["Gemm"]>): OpAttributes["Gemm"] => ({
  transA: false,
  transB: false,
  alpha: 1,
  beta: 1,
  ...given,
});

type Sizes = readonly [rows: number, inner: number, columns: number];

/** Sums without terms, which are 0 plus C, and results without elements. */
const EMPTY: readonly { readonly attributes: Partial<OpAttributes["Gemm"]>; readonly sizes: Sizes }[] = [
  { attributes: {}, sizes: [5, 0, 3] },
  { attributes: { transA: true, transB: true, alpha: 0.5, beta: 2 }, sizes: [5, 0, 3] },
  { attributes: { beta: 0 }, sizes: [1, 0, 3] },
  { attributes: { transA: true }, sizes: [0, 4, 3] },
  { attributes: { transB: true, beta: 2 }, sizes: [5, 4, 0] },
  { attributes: {}, sizes: [0, 0, 0] },
];

type Draw = (draws: Draws, shape: Shape) => HostTensor;

function gemms(draws: Draws, draw: Draw, exact: boolean): readonly OpSample<"Gemm">[] {
  const one = (
    attributes: Partial<OpAttributes["Gemm"]>,
    c?: Shape,
    [rows, inner, columns]: Sizes = [5, 6, 3],
  ): OpSample<"Gemm"> => {
    const a = draw(draws, attributes.transA === true ? [inner, rows] : [rows, inner]);
    const b = draw(draws, attributes.transB === true ? [columns, inner] : [inner, columns]);
    const rest = c === undefined ? [] : [draw(draws, c)];
    return { attributes: gemmAttributes(attributes), inputs: [a, b, ...rest], exact };
  };
  return [
    one({}),
    one({ transA: true }),
    one({ transB: true }),
    one({ transA: true, transB: true }, [3]),
    one({}, [5, 3]),
    one({}, [5, 1]),
    one({}, [1, 3]),
    one({}, []),
    one({ alpha: 0.5 }),
    one({ alpha: 2, beta: 0.25 }, [3]),
    one({ beta: 0 }, [3]),
    one({ transA: true }, [5, 1]),
    one({ transA: true }, [1, 3]),
    one({ transB: true }, [1, 1]),
    one({ transA: true, alpha: 0.5, beta: 2 }, [1, 3]),
    ...EMPTY.flatMap(({ attributes, sizes }) => [
      one(attributes, undefined, sizes),
      one(attributes, [], sizes),
      one(attributes, [sizes[2]], sizes),
      one(attributes, [sizes[0], 1], sizes),
      one(attributes, [sizes[0], sizes[2]], sizes),
    ]),
  ];
}

const EINSUMS: readonly (readonly [equation: string, ...shapes: Shape[]])[] = [
  ["ij,jk->ik", [2, 3], [3, 4]],
  ["ij,jk", [2, 3], [3, 4]],
  [" i j , j k -> k i ", [2, 3], [3, 4]],
  ["bA,cb->cA", [3, 2], [4, 3]],
  ["ji,kj->ik", [3, 2], [4, 3]],
  ["bij,bjk->bik", [2, 3, 4], [2, 4, 5]],
  ["ijb,kbj->bki", [3, 4, 2], [5, 2, 4]],
  ["bqhd,bkhd->bhqk", [2, 3, 2, 4], [2, 5, 2, 4]],
  ["i,i->", [5], [5]],
  ["i,j->ji", [3], [4]],
  ["ij,ij->ji", [3, 4], [3, 4]],
  ["ij,j->ij", [3, 4], [4]],
  ["ij,kl->", [2, 3], [4, 2]],
  ["ij,kl->jl", [2, 3], [4, 2]],
  ["ij,ijk->ik", [2, 3], [2, 3, 4]],
  ["ij->ij", [3, 4]],
  ["ba", [3, 4]],
  ["ij->", [3, 4]],
  ["ijk->ik", [3, 4, 2]],
  [",ij->ji", [], [2, 3]],
  [",", [], []],
  ["ij,jk->ik", [17, 33], [33, 9]],
]; // biome-ignore format: one equation a line

/** Equations with a letter repeated in a term, which takes the diagonal. */
const DIAGONALS: typeof EINSUMS = [
  ["ii->i", [4, 4]],
  ["ii", [4, 4]],
  ["iii->i", [3, 3, 3]],
  ["ijij->ji", [2, 3, 2, 3]],
  ["ijji->j", [2, 3, 3, 2]],
  ["ii,ij->j", [3, 3], [3, 2]],
  ["iij,jkk->ik", [2, 2, 3], [3, 2, 2]],
];

const ELLIPSES: typeof EINSUMS = [
  ["...ij,...jk->...ik", [2, 2, 3], [2, 3, 4]],
  ["...ij,...jk->...ik", [5, 1, 2, 3], [1, 2, 3, 4]],
  ["...ij,...jk", [2, 1, 2, 3], [1, 3, 3, 2]],
  ["i...,...->...i", [2, 3], [3]],
  ["...,...->...", [2, 1], [1, 3]],
  ["...i->...", [2, 3, 4]],
  ["...ii->i...", [2, 3, 3]],
  ["i...j->j...", [2, 3, 4]],
];

const SEVERAL: typeof EINSUMS = [
  ["ij,jk,kl->il", [2, 3], [3, 4], [4, 5]],
  ["ij,ik,il->jkl", [2, 3], [2, 4], [2, 2]],
  ["a,b,c,d->dbca", [2], [3], [2], [2]],
  ["i,i,i->i", [4], [4], [4]],
  ["i,i,i,i->", [4], [4], [4], [4]],
  ["...i,ij,j...->...", [2, 3], [3, 4], [4, 2]],
];

/** Sums without terms, which are 0, and results without elements. */
const WITHOUT: typeof EINSUMS = [
  ["ij,jk->ik", [2, 0], [0, 3]],
  ["ij,jk->ik", [0, 2], [2, 3]],
  ["bij,bjk->bik", [2, 3, 0], [2, 0, 4]],
  ["bij,bjk->bik", [0, 3, 2], [0, 2, 4]],
  ["i,i->", [0], [0]],
  ["ij->j", [0, 3]],
  ["ij->i", [0, 3]],
  ["ii->i", [0, 0]],
  ["ii->", [0, 0]],
  ["i,j->ij", [0], [3]],
  ["ij,jk,kl->il", [2, 3], [3, 0], [0, 5]],
  ["...ij,...jk->...ik", [0, 2, 3], [1, 3, 4]],
];

function einsums(
  draws: Draws,
  list: typeof EINSUMS,
  draw: Draw,
  exact = false,
): readonly OpSample<"Einsum">[] {
  return list.map(([equation, ...shapes]) => ({
    attributes: { equation },
    inputs: shapes.map((shape) => draw(draws, shape)),
    exact,
  }));
}

/**
 * Zeros in a row or column times a matrix with NaN or an infinity, in both orders. A product that skips zeros hides
 * the NaN that the finite check looks for.
 */
function zerosByNonFinite(dtype: DType): readonly (readonly [HostTensor, HostTensor])[] {
  return [true, false].flatMap((isRow) =>
    [Number.NaN, INFINITE].flatMap((value) => {
      const zeros = generate(dtype, [4, 4], (at) => {
        return (isRow ? Math.floor(at / 4) : at % 4) === 1 ? 0 : 1 + (at % 3);
      });
      const holder = generate(dtype, [4, 4], (at) => (at === 6 ? value : 1 - (at % 3)));
      return [[zeros, holder] as const, [holder, zeros] as const];
    }),
  );
}

/** Factors of 1 and 2, so that f16 and bf16 hold every sum of products exactly. */
const factors =
  (draws: Draws) =>
  (shape: Shape): HostTensor =>
    terms(draws, shape, 2);

/** Sizes with one long side: the inner one, the rows, or the columns. */
const LONG: readonly ((length: number) => Sizes)[] = [
  (n) => [2, n, 3],
  (n) => [n, 3, 2],
  (n) => [2, 3, n],
  (n) => [1, n, 1],
  (n) => [n, 2, 1],
  (n) => [1, 2, n],
];

const productSizes = (dtype: DType): readonly Sizes[] => [
  ...sideTriples(dtype),
  ...lengths(dtype).map((length) => formAt(LONG, length)(length)),
];

/** Operand shapes: vectors, matrices, and batches that are shared or broadcast. */
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

const TAIL_EQUATIONS: readonly (readonly [string, (sizes: Sizes) => readonly Shape[]])[] = [
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

/** Rows, columns, inner axes and batches of more than 64, 1 000, 4 096 and 65 536; also products of vectors. */
const LARGE_PRODUCTS: readonly (readonly [Shape, Shape])[] = [
  [[4_133, 5], [5, 18]],
  [[5, 3], [3, 14_001]],
  [[3, 4_133], [4_133, 2]],
  [[1, 66_002], [66_002, 2]],
  [[2, 66_002], [66_002]],
  [[66_002, 2], [2, 1]],
  [[1, 1_031], [1_031, 67]],
  [[67, 1_031], [1_031, 1]],
  [[131, 65], [65, 66]],
  [[4_133, 2, 3], [4_133, 3, 3]],
  [[66_002, 1, 2], [66_002, 2, 1]],
  [[4_133, 2, 3], [3, 9]],
  [[3, 1, 2, 1_031], [1_031, 3]],
]; // biome-ignore format: one pair a line

const largeEinsum = (equation: string, ...shapes: readonly Shape[]) =>
  exact<"Einsum">({ equation }, ...shapes.map((shape) => whole(shape)));

const largeGemm = (
  a: Shape,
  b: Shape,
  given: Partial<OpAttributes["Gemm"]> = {},
  ...rest: readonly Shape[]
) =>
  exact<"Gemm">(
    { transA: false, transB: false, alpha: 1, beta: 1, ...given },
    ...[a, b, ...rest].map((shape) => whole(shape)),
  );

const SIDES = [2, 3, 4];

/** Vectors, matrices and batches with all sizes equal; batches are shared or broadcast. */
const cubeProducts = (n: number): readonly (readonly [Shape, Shape])[] => [
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

const addends = (n: number): readonly (readonly Shape[])[] => [[], [[n]], [[n, 1]], [[1, n]], [[n, n]]];

const booleans = [false, true];

const spell = (letters: string, order: readonly number[]): string => order.map((at) => letters[at]).join("");

/** Matrix and batch products, with the letters of each operand and of the result in every order. */
const CUBE_EQUATIONS: readonly (readonly [equation: string, ranks: readonly number[]])[] = [
  ...permutations(2).flatMap((a) =>
    permutations(2).flatMap((b) =>
      permutations(2).map((y) => [`${spell("ij", a)},${spell("jk", b)}->${spell("ik", y)}`, [2, 2]] as const),
    ),
  ),
  ...permutations(3).flatMap((a) =>
    permutations(3).map((y) => [`${spell("bij", a)},bjk->${spell("bik", y)}`, [3, 3]] as const),
  ),
  ...permutations(3).flatMap((b) =>
    permutations(3).map((y) => [`bij,${spell("bjk", b)}->${spell("bik", y)}`, [3, 3]] as const),
  ),
  ...permutations(3).map((y) => [`ijk->${spell("ijk", y)}`, [3]] as const),
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

/** All results that the letters allow: each choice of letters in each order. */
function einsumResults(letters: readonly string[]): readonly string[] {
  return [
    "",
    ...letters.flatMap((letter) =>
      einsumResults(letters.filter((l) => l !== letter)).map((rest) => letter + rest),
    ),
  ];
}

const uniqueLetters = (...terms: readonly string[]): readonly string[] => [...new Set(terms.join(""))];

/** All equations of one operand with up to three axes, also with equal letters. */
const OF_ONE = ["i", "ii", "ij", "iii", "iij", "iji", "ijj", "ijk"].flatMap((term) => [
  term,
  ...einsumResults(uniqueLetters(term)).map((result) => `${term}->${result}`),
]);

const TERMS = ["", "i", "j", "ij", "ji", "jk", "kj", "ii", "bij", "bjk", "jbk"];

/** All pairs of terms in both orders, each with one possible result. */
const OF_TWO = TERMS.flatMap((left, row) =>
  TERMS.map((right, column) => {
    const results = einsumResults(uniqueLetters(left, right));
    return `${left},${right}->${results[(row * 7 + column * 3) % results.length] ?? ""}`;
  }),
);

const SIZES: Readonly<Record<string, number>> = { i: 3, j: 4, k: 2, b: 5 };

const operandShapes = (equation: string): readonly Shape[] =>
  (equation.split("->")[0] ?? "").split(",").map((term) => [...term].map((letter) => SIZES[letter] ?? 1));

const einsum =
  (equation: string): GradientSample["fn"] =>
  (...operands) =>
    ops.einsum(equation, ...operands);

export const matrixTable: OpTable<OpOf<"matrix">> = {
  MatMul: {
    samples: (draws) => ({
      values: PRODUCTS.map(([a, b]) => sample({}, positives(draws, a), positives(draws, b))),
      "whole-numbers-are-exact": PRODUCTS.map(([a, b]) =>
        exact({}, smallIntegers(draws, a), smallIntegers(draws, b)),
      ),
      "non-finite-terms": [sample({}, ...nonFinite(draws.dtype))],
      "zeros-times-infinity": zerosByNonFinite(draws.dtype).map((inputs) => sample({}, ...inputs)),
    }),
    tails: (draws) => {
      const draw = factors(draws);
      const of = ([a, b]: readonly [Shape, Shape]) => exact<"MatMul">({}, draw(a), draw(b));
      return productSizes(draws.dtype).map((sizes, at) => of(rotating(BATCHES, at)(sizes)));
    },
    sizes: () => LARGE_PRODUCTS.map(([a, b]) => exact({}, whole(a), whole(b))),
    // Batches broadcast in the same ways as elementwise operands.
    axes: (draws, shapes) => ({
      "every-axis": shapes
        .filter(({ length }) => length < 4)
        .flatMap(broadcastPairs)
        .map(([a, b]) => exact({}, smallIntegers(draws, [...a, 2, 5]), smallIntegers(draws, [...b, 5, 3]))),
      vectors: shapes
        .filter(({ length }) => length > 1)
        .flatMap((shape) => {
          const [rows = 1, inner = 1] = shape.slice(-2);
          return [
            sample({}, ...[shape, [inner]].map((size) => smallIntegers(draws, size))),
            sample({}, ...[[rows], shape].map((size) => smallIntegers(draws, size))),
          ];
        }),
    }),
    sides: (draws) => {
      const sumTerms = (shape: Shape) => terms(draws, shape);
      return SIDES.flatMap((n) => cubeProducts(n).map(([a, b]) => exact({}, sumTerms(a), sumTerms(b))));
    },
    gradients: twice([
      gradient("matrices", [spread([3, 4]), spread([4, 2], 1)], ops.matMul),
      gradient("batches", [spread([2, 3, 4]), spread([4, 2], 1)], ops.matMul),
      gradient("broadcast-batches", [spread([2, 1, 3, 4]), spread([3, 4, 2], 1)], ops.matMul),
      gradient("vectors", [spread([4]), spread([4], 1)], ops.matMul),
      gradient("matrix-by-vector", [spread([3, 4]), spread([4], 1)], ops.matMul),
    ]),
    rare: [subnormalsTimesOne, farMatMul],
  },
  Gemm: {
    samples: (draws) => ({
      values: gemms(draws, positives, false),
      "whole-numbers-are-exact": gemms(draws, smallIntegers, true),
      "non-finite-terms": [
        sample(gemmAttributes({}), ...nonFinite(draws.dtype)),
        sample(
          gemmAttributes({}),
          generate(draws.dtype, [2, 3], () => 1),
          generate(draws.dtype, [3, 2], () => 1),
          hostData(draws.dtype, [Number.NaN, INFINITE], [2]),
        ),
      ],
      "zeros-times-infinity": zerosByNonFinite(draws.dtype).map((inputs) =>
        sample(gemmAttributes({}), ...inputs),
      ),
      // 0 · NaN is NaN, so a factor of 0 may not skip the product.
      "factors-of-zero-keep-nan": [
        sample(
          gemmAttributes({ beta: 0 }),
          generate(draws.dtype, [2, 3], () => 1),
          generate(draws.dtype, [3, 2], () => 1),
          hostData(draws.dtype, [Number.NaN, INFINITE], [2]),
        ),
        sample(gemmAttributes({ alpha: 0 }), ...nonFinite(draws.dtype)),
        ...[Number.NaN, INFINITE].map((value) =>
          sample<"Gemm">(
            gemmAttributes({ alpha: 0 }),
            generate(draws.dtype, [2, 3], () => 1),
            generate(draws.dtype, [3, 2], (at) => (at === 1 ? value : 1)),
            generate(draws.dtype, [2], () => 1),
          ),
        ),
        sample<"Gemm">(
          gemmAttributes({ alpha: 0, beta: 0.5 }),
          ...nonFinite(draws.dtype),
          hostData(draws.dtype, [4, Number.NaN], [2]),
        ),
      ],
      "no-inner-elements": [
        sample(gemmAttributes({}), hostData(draws.dtype, [], [2, 0]), hostData(draws.dtype, [], [0, 3])),
        ...[[3], [2, 3], [2, 1], []].map((c) =>
          exact<"Gemm">(
            gemmAttributes({ beta: 0.5 }),
            hostData(draws.dtype, [], [2, 0]),
            hostData(draws.dtype, [], [0, 3]),
            generate(draws.dtype, c, (at) => at + 1),
          ),
        ),
        exact<"Gemm">(
          gemmAttributes({ transA: true, transB: true, alpha: 2 }),
          hostData(draws.dtype, [], [0, 2]),
          hostData(draws.dtype, [], [3, 0]),
          hostData(draws.dtype, [7], [1]),
        ),
      ],
    }),
    tails: (draws) => {
      const draw = factors(draws);
      const of = (at: number, [m, k, n]: Sizes): OpSample<"Gemm"> => {
        const attributes = rotating(TRANSPOSED, at);
        const a = draw(attributes.transA ? [k, m] : [m, k]);
        const b = draw(attributes.transB ? [n, k] : [k, n]);
        const c = rotating(ADDED, at)(m, n).map(draw);
        return exact({ ...attributes, alpha: 1, beta: at % 3 === 0 ? 2 : 1 }, a, b, ...c);
      };
      return productSizes(draws.dtype).map((sizes, at) => of(at, sizes));
    },
    sizes: () => [
      largeGemm([4_133, 5], [5, 18], {}, [18]),
      largeGemm([5, 4_133], [18, 5], { transA: true, transB: true }, [4_133, 1]),
      largeGemm([3, 4_133], [2, 4_133], { transB: true, alpha: 0.5 }),
      largeGemm([66_002, 2], [66_002, 3], { transA: true }, [2, 1]),
      largeGemm([67, 131], [131, 1_031], { beta: 2 }, [67, 1_031]),
    ],
    sides: (draws) => {
      const sumTerms = (shape: Shape) => terms(draws, shape);
      return SIDES.flatMap((n) =>
        booleans.flatMap((transA) =>
          booleans.flatMap((transB) =>
            addends(n).map((c, at) =>
              exact(
                { transA, transB, alpha: at % 2 === 0 ? 1 : 2, beta: at % 3 === 0 ? 2 : 1 },
                sumTerms([n, n]),
                sumTerms([n, n]),
                ...c.map(sumTerms),
              ),
            ),
          ),
        ),
      );
    },
    options: () => [
      setting(
        "Gemm",
        { transA: [false, true], transB: [false, true], alpha: [1, 0.5, 2, 0, -1], beta: [1, 0.5, 2, 0, -1] },
        { c: [[4, 3], "none", [3], [1, 3], [4, 1], [1, 1], []] },
        (attributes, { c }, draws) => {
          const draw = (shape: Shape): HostTensor => smallIntegers(draws, shape);
          const [a, b] = [[4, 5], [5, 3]]; // biome-ignore format: one line
          return exact(
            attributes,
            draw(attributes.transA ? a.toReversed() : a),
            draw(attributes.transB ? b.toReversed() : b),
            ...(c === "none" ? [] : [draw(c)]),
          );
        },
      ),
    ],
    gradients: [
      gradient("with-bias", [spread([3, 4]), spread([4, 2], 1), spread([2], 2)], (a, b, c) =>
        ops.gemm(a, b, c),
      ),
      gradient("transposed-and-scaled", [spread([4, 3]), spread([2, 4], 1), spread([3, 1], 2)], (a, b, c) =>
        ops.gemm(a, b, c, { transA: true, transB: true, alpha: 0.5, beta: 2 }),
      ),
    ],
    rare: [subnormalsPlusOthers, farGemm],
  },
  Einsum: {
    rare: [farEinsum],
    samples: (draws) => {
      const whole = (list: typeof EINSUMS) => einsums(draws, list, smallIntegers, true);
      const exactly = {
        "whole-numbers-are-exact": whole(EINSUMS),
        diagonals: whole(DIAGONALS),
        ellipses: whole(ELLIPSES),
        "several-operands": whole(SEVERAL),
        "no-elements": whole(WITHOUT),
      };
      if (!isFloat(draws.dtype)) return exactly;
      return {
        values: einsums(draws, EINSUMS, positives),
        "values-of-diagonals": einsums(draws, DIAGONALS, positives),
        "values-of-ellipses": einsums(draws, ELLIPSES, positives),
        "values-of-several-operands": einsums(draws, SEVERAL, positives),
        ...exactly,
        "zeros-times-infinity": zerosByNonFinite(draws.dtype).map((inputs) =>
          sample({ equation: "ij,jk->ik" }, ...inputs),
        ),
        "non-finite-terms": [
          sample({ equation: "ij,jk->ik" }, ...nonFinite(draws.dtype)),
          sample({ equation: "ij,jk->ki" }, ...nonFinite(draws.dtype)),
          sample(
            { equation: "ij,ij->i" },
            ...nonFinite(draws.dtype).flatMap((x) => (x.shape[0] === 5 ? [x, x] : [])),
          ),
          sample({ equation: "ij->i" }, ...nonFinite(draws.dtype).slice(0, 1)),
          // Elements off the diagonal are not read.
          sample({ equation: "ii->i" }, hostData(draws.dtype, [1, Number.NaN, INFINITE, 2], [2, 2])),
        ],
      };
    },
    tails: (draws) => {
      const draw = factors(draws);
      return productSizes(draws.dtype).map((sizes, at) => {
        const [equation, shapes] = rotating(TAIL_EQUATIONS, at);
        return exact({ equation }, ...shapes(sizes).map(draw));
      });
    },
    sizes: () => [
      largeEinsum("ij,jk->ik", [4_133, 5], [5, 18]),
      largeEinsum("ij,jk->ki", [3, 66_002], [66_002, 2]),
      largeEinsum("ji,kj->ik", [2, 66_002], [3, 2]),
      largeEinsum("bij,bjk->bik", [66_002, 1, 2], [66_002, 2, 1]),
      largeEinsum("ibj,kjb->bki", [3, 4_133, 2], [3, 2, 4_133]),
      largeEinsum("i,i->", [66_002], [66_002]),
      largeEinsum("i,j->ji", [3], [66_002]),
      largeEinsum("ij->j", [66_002, 3]),
      largeEinsum("ii->i", [1_031, 1_031]),
      largeEinsum("ij,jk,kl->il", [67, 131], [131, 1_031], [1_031, 3]),
      largeEinsum("...ij,...jk->...ik", [4_133, 1, 2, 3], [1, 2, 3, 2]),
    ],
    sides: (draws) => {
      const sumTerms = (shape: Shape) => terms(draws, shape);
      return CUBE_EQUATIONS.map(([equation, ranks], at) => {
        const n = 2 + (at % 2);
        return exact({ equation }, ...ranks.map((rank) => sumTerms(cube(n, rank))));
      });
    },
    options: () => [
      setting("Einsum", { equation: [...OF_ONE, ...OF_TWO] }, {}, (attributes, _, draws) =>
        exact(attributes, ...operandShapes(attributes.equation).map((shape) => smallIntegers(draws, shape))),
      ),
    ],
    gradients: twice([
      gradient("matrices", [spread([3, 4]), spread([4, 2], 1)], einsum("ij,jk->ki")),
      gradient("batches", [spread([2, 3, 2, 2]), spread([2, 2, 2, 2], 1)], einsum("bqhd,bkhd->bhqk")),
      gradient("summed-letters", [spread([2, 3]), spread([2, 3], 1)], einsum("ij,kl->il")),
      gradient("a-diagonal", [spread([3, 3])], einsum("ii->i")),
      gradient("a-trace", [spread([3, 3])], einsum("ii")),
      gradient("a-diagonal-by-a-matrix", [spread([2, 2, 3]), spread([3, 2], 1)], einsum("iij,jk->ik")),
      gradient("an-ellipsis", [spread([2, 1, 2, 3]), spread([2, 3, 2], 1)], einsum("...ij,...jk->...ik")),
      gradient(
        "three-operands",
        [spread([2, 3]), spread([3, 2], 1), spread([2, 2], 2)],
        einsum("ij,jk,kl->il"),
      ),
    ]),
  },
};
