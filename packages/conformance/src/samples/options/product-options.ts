/** Products of matrices: options of Gemm, equations of Einsum, masks and heads of Attention. */
import type { DType, HostTensor, Shape } from "@mp/core";
import { generated, randomData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import { exact, positives, sample, smallIntegers } from "../op-sample.js";
import { type OptionRows, setting } from "./setting.js";

/** The results that a letter's axes can make: each choice of some letters in each order. */
function resultsOf(letters: readonly string[]): readonly string[] {
  return [
    "",
    ...letters.flatMap((letter) =>
      resultsOf(letters.filter((l) => l !== letter)).map((rest) => letter + rest),
    ),
  ];
}

const lettersOf = (...terms: readonly string[]): readonly string[] => [...new Set(terms.join(""))];

/** Every form of one operand with up to three axes, equal letters among them. */
const OF_ONE = ["i", "ii", "ij", "iii", "iij", "iji", "ijj", "ijk"].flatMap((term) => [
  term,
  ...resultsOf(lettersOf(term)).map((result) => `${term}->${result}`),
]);

const TERMS = ["", "i", "j", "ij", "ji", "jk", "kj", "ii", "bij", "bjk", "jbk"];
/** Pairs of terms, each in both orders and with one of its results. */
const OF_TWO = TERMS.flatMap((left, row) =>
  TERMS.map((right, column) => {
    const results = resultsOf(lettersOf(left, right));
    return `${left},${right}->${results[(row * 7 + column * 3) % results.length] ?? ""}`;
  }),
);

const SIZES: Readonly<Record<string, number>> = { i: 3, j: 4, k: 2, b: 5 };

const shapesOf = (equation: string): readonly Shape[] =>
  (equation.split("->")[0] ?? "").split(",").map((term) => [...term].map((letter) => SIZES[letter] ?? 1));

const NEVER = Number.NEGATIVE_INFINITY;
type Mask = "none" | "bool" | "bool-of-each-head" | "f32" | "own" | "one-row";

/** Every row has a key that it may attend to, the first, so that none is empty beside `isCausal`. */
function maskOf(
  kind: Mask,
  dtype: DType,
  [batch, heads, time, keys]: readonly [number, number, number, number],
  random: RandomSource,
): readonly HostTensor[] {
  if (kind === "none") return [];
  const shape: Shape =
    kind === "bool-of-each-head"
      ? [batch, heads, time, keys]
      : kind === "one-row"
        ? [batch, 1, 1, keys]
        : [time, keys];
  const isAdded = kind === "f32" || kind === "own";
  const draw = (at: number): number => {
    const isOpen = at % keys === 0 || random.next() < 0.6;
    if (isAdded) return isOpen ? random.integer(-4, 4) / 4 : NEVER;
    return isOpen ? 1 : 0;
  };
  return [generated(kind === "f32" ? "f32" : isAdded ? dtype : "bool", shape, draw)];
}

export const productOptions: OptionRows<"Gemm" | "Einsum" | "Attention"> = {
  Gemm: {
    settings: (dtype) => [
      setting(
        "Gemm",
        { transA: [false, true], transB: [false, true], alpha: [1, 0.5, 2, 0, -1], beta: [1, 0.5, 2, 0, -1] },
        { c: [[4, 3], "none", [3], [1, 3], [4, 1], [1, 1], []] },
        (attributes, { c }, random) => {
          const draw = (shape: Shape): HostTensor => smallIntegers(random, dtype, shape);
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
  },
  Einsum: {
    settings: (dtype) => [
      setting("Einsum", { equation: [...OF_ONE, ...OF_TWO] }, {}, (attributes, _, random) =>
        exact(
          attributes,
          ...shapesOf(attributes.equation).map((shape) => smallIntegers(random, dtype, shape)),
        ),
      ),
    ],
  },
  Attention: {
    settings: (dtype) => [
      setting(
        "Attention",
        { scale: [0.5, 1, 0.1], isCausal: [false, true], softcap: [0, 1.5, 0.3] },
        {
          mask: ["none", "bool", "bool-of-each-head", "f32", "own", "one-row"],
          heads: [2, 1, 4],
          keys: [4, 6, 3],
          valueSize: [3, 2],
        },
        (attributes, { mask, heads, keys, valueSize }, random) => {
          // Heads share their keys in pairs where there are four.
          const [batch, time, size, keyHeads] = [2, 4, 3, heads === 4 ? 2 : heads];
          return sample(
            attributes,
            randomData(random, dtype, [batch, heads, time, size], -2, 2),
            randomData(random, dtype, [batch, keyHeads, keys, size], -2, 2),
            positives(random, dtype, [batch, keyHeads, keys, valueSize]),
            ...maskOf(mask, dtype, [batch, heads, time, keys], random),
          );
        },
      ),
    ],
  },
};
