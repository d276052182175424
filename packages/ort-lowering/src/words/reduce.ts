/** Reductions fold one half of the elements onto the other until one is left. */
import type { OpOf } from "@mp/core/graph";
import { add, choose, isLess, multiply } from "./arithmetic.js";
import { isSigned, pairAt, type WordRule, type WordRules } from "./rule.js";
import type { Pair, WordBuilder } from "./words.js";

type Reduction = Extract<OpOf<"reduce">, "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin">;
type Fold = (a: Pair, b: Pair, isSigned: boolean, words: WordBuilder) => Pair;

/** The pair of what `change` makes of each half. */
function mapped(
  x: Pair,
  shape: readonly number[],
  words: WordBuilder,
  change: (half: Pair["low"]) => Pair["low"],
): Pair {
  return words.pair(shape, change(words.full(x.low, x.shape)), change(words.full(x.high, x.shape)));
}

/** Matrix with the reduced elements in its first axis. */
function inRows(x: Pair, axes: readonly number[], words: WordBuilder): Pair {
  const others = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const sizeOf = (list: readonly number[]): number =>
    list.reduce((product, axis) => product * (x.shape[axis] ?? 1), 1);
  const shape = [sizeOf(axes), sizeOf(others)];
  const perm = [...axes, ...others];
  const isInOrder = perm.every((axis, place) => axis === place);
  return mapped(x, shape, words, (half) => {
    const moved = isInOrder ? half : words.one("Transpose", [half], { perm });
    return words.one("Reshape", [moved], { shape });
  });
}

function rows(x: Pair, from: number, to: number, words: WordBuilder): Pair {
  const range = { starts: [from], ends: [to], axes: [0], steps: [1] };
  return mapped(x, [to - from, x.shape[1] ?? 1], words, (half) => words.one("Slice", [half], range));
}

/** @param empty the result of no elements; the reduction is refused by type inference where there is none */
const folded =
  (fold: Fold, empty: bigint): WordRule<Reduction> =>
  (node, operands, words) => {
    const { axes } = node.attributes;
    const x = pairAt(operands, 0, words);
    const shape = node.outputs[0]?.shape ?? [];
    if (axes.length === 0) return [x];
    let left = inRows(x, axes, words);
    let [size = 0] = left.shape;
    if (size === 0) return [{ ...words.constant(empty), shape }];
    for (; size > 1; size = Math.ceil(size / 2)) {
      const half = size >> 1;
      const both = fold(rows(left, 0, half, words), rows(left, half, 2 * half, words), isSigned(node), words);
      left = size % 2 === 0 ? both : appended(both, rows(left, size - 1, size, words), words);
    }
    return [mapped(left, shape, words, (half) => words.one("Reshape", [half], { shape }))];
  };

function appended(a: Pair, b: Pair, words: WordBuilder): Pair {
  const shape = [(a.shape[0] ?? 0) + (b.shape[0] ?? 0), a.shape[1] ?? 1];
  const joined = (half: "low" | "high"): Pair["low"] =>
    words.one("Concat", [words.full(a[half], a.shape), words.full(b[half], b.shape)], { axis: 0 });
  return words.pair(shape, joined("low"), joined("high"));
}

const extreme =
  (isMost: boolean): Fold =>
  (a, b, signed, words) =>
    choose(isLess(a, b, signed, words), isMost ? b : a, isMost ? a : b, words);

export const reduceRules: WordRules<Reduction> = {
  ReduceSum: folded((a, b, _signed, words) => add(a, b, words), 0n),
  ReduceProd: folded((a, b, _signed, words) => multiply(a, b, words), 1n),
  ReduceMax: folded(extreme(true), 0n),
  ReduceMin: folded(extreme(false), 0n),
};
