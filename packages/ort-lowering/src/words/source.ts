import { tensor, zeros } from "@mp/core";
import { type OpOf, rangeValues, type Value } from "@mp/core/graph";
import { constantPair, packed } from "./packed.js";
import { isWords, pairAt, type WordRule, type WordRules } from "./rule.js";
import type { Pair, WordBuilder } from "./words.js";

const constant: WordRule<"Constant"> = ({ attributes: { value } }, _operands, words) => [
  constantPair(value, words),
];

const range: WordRule<"Range"> = (node, _operands, words) => [constantPair(rangeValues(node), words)];

/** The value of each word as u64, where the lower is signed. */
const PLACES = tensor(BigUint64Array.of(1n, 2n ** 32n), [2], "u64");

/**
 * A u64 again, for the one operator that takes it: the sum of both words in their places. Cast from i32, a low word with
 * its top bit set counts for 2^32 less, which the high word makes up for.
 */
function joined({ low, high }: Pair, words: WordBuilder): Value {
  const even = words.add(high, words.bit(words.isNegative(low)));
  const signed = packed(words.pair([], low, even), words);
  const wide = words.one("Cast", [signed], { to: "u64" });
  const inPlace = words.one("Mul", [wide, words.one("Constant", [], { value: PLACES })], {});
  return words.one("ReduceSum", [inPlace], { axes: [0], keepdims: false });
}

const randomBits: WordRule<"RandomBits"> = (node, operands, words) => {
  const { attributes, name, origin } = node;
  const { shape } = attributes;
  if (shape.includes(0)) return [constantPair(zeros(shape, "u64"), words)];
  const counter = words.once(operands[0], () => joined(pairAt(operands, 0, words), words));
  const [value] = words.emit("RandomBits", [counter], attributes, origin, name);
  return [{ kind: "short", value: value as Value, below: 2 ** 32 }];
};

/** Passes both halves through. */
const barrier: WordRule<"Barrier"> = (_node, [x, ...others], words) => {
  const before = others.flatMap((operand) => {
    if (!isWords(operand)) return [operand];
    const { low, high } = words.halves(operand);
    return [low, high];
  });
  const held = (value: Value): Value => words.one("Barrier", [value, ...before], {});
  if (x === undefined) return [];
  if (!isWords(x)) return [held(x)];
  const { shape, low, high } = words.halves(x);
  return [words.pair(shape, held(low), held(high))];
};

export const sourceRules: WordRules<OpOf<"source">> = {
  Constant: constant,
  Range: range,
  RandomBits: randomBits,
  Barrier: barrier,
};
