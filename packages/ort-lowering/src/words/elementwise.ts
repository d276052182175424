import type { GraphNode, OpOf, Value } from "@mp/core/graph";
import { add, choose, isEqual, isLess, magnitude, multiply, negate, subtract } from "./arithmetic.js";
import { ofValue, toValue } from "./casts.js";
import { divide, modulo } from "./division.js";
import { isSigned, isWords, pairAt, valueAt, type WordRule, type WordRules } from "./rule.js";
import type { Pair, WordBuilder } from "./words.js";

type Binary = Extract<OpOf<"binary">, "Add" | "Sub" | "Mul" | "Min" | "Max">;

const computed =
  (compute: (a: Pair, b: Pair, isSigned: boolean, words: WordBuilder) => Pair): WordRule<Binary> =>
  (node, operands, words) => [
    compute(pairAt(operands, 0, words), pairAt(operands, 1, words), isSigned(node), words),
  ];

/** @param isSwapped whether it asks for b < a */
const compared =
  (isSwapped: boolean, isNegated: boolean): WordRule =>
  (node, operands, words) => {
    const [a, b] = [pairAt(operands, 0, words), pairAt(operands, 1, words)];
    const isBelow = isSwapped ? isLess(b, a, isSigned(node), words) : isLess(a, b, isSigned(node), words);
    return [fullResult(node, isNegated ? words.not(isBelow) : isBelow, words)];
  };

const fullResult = (node: GraphNode, value: Value, words: WordBuilder): Value =>
  words.full(value, node.outputs[0]?.shape ?? []);

const least = (a: Pair, b: Pair, signed: boolean, words: WordBuilder): Pair =>
  choose(isLess(b, a, signed, words), b, a, words);

const greatest = (a: Pair, b: Pair, signed: boolean, words: WordBuilder): Pair =>
  choose(isLess(a, b, signed, words), b, a, words);

/** Random bits are below it, and so is a divisor that is a u32. */
const MOST = 2 ** 32;

/** Short integers stay short where the divisor is a number. */
const division: WordRule<"Div"> = (node, operands, words) => {
  const [a, b] = operands;
  if (a !== undefined && isWords(a) && a.kind === "short" && b !== undefined && isWords(b)) {
    const divisor = words.numberOf(words.halves(b));
    if (divisor !== undefined && divisor > 0 && divisor < MOST) {
      const value = words.one("Div", [a.value, words.builder.literal(divisor, "u64")], {});
      return [{ kind: "short", value, below: Math.ceil(a.below / divisor) }];
    }
  }
  return [divide(pairAt(operands, 0, words), pairAt(operands, 1, words), isSigned(node), words).quotient];
};

/** The remainder; for integers it has the sign of the divisor; `fmod` is for floats. */
const remainder: WordRule<"Mod"> = (_node, operands, words) => [
  modulo(pairAt(operands, 0, words), pairAt(operands, 1, words), words),
];

const sign: WordRule<"Sign"> = (_node, operands, words) => {
  const x = pairAt(operands, 0, words);
  const isNegative = words.isNegative(x.high);
  const isNone = isEqual(x, words.constant(0n), words);
  const minus = words.sub(words.word(0), words.bit(isNegative));
  return [words.pair(x.shape, words.choose(isNegative, minus, words.bit(words.not(isNone))), minus)];
};

const clip: WordRule<"Clip"> = (node, operands, words) => {
  const { min, max } = node.attributes;
  const signed = isSigned(node);
  const x = pairAt(operands, 0, words);
  const raised = min === undefined ? x : greatest(x, words.constant(BigInt(min)), signed, words);
  return [max === undefined ? raised : least(raised, words.constant(BigInt(max)), signed, words)];
};

/** f32 holds integers up to here without rounding. */
const EXACT = 2 ** 24;

const cast: WordRule<"Cast"> = (node, operands, words) => {
  const { to } = node.attributes;
  const [x] = operands;
  if (x === undefined) throw new Error("internal: Cast without an operand");
  if (!isWords(x)) return [ofValue(x, words)];
  if (to === "i64" || to === "u64") return [x];
  if (x.kind === "short" && to === "f32" && x.below <= EXACT) return words.emit("Cast", [x.value], { to });
  return [toValue(words.halves(x), isSigned(node), to, words)];
};

const where: WordRule<"Where"> = (_node, operands, words) => [
  choose(valueAt(operands, 0), pairAt(operands, 1, words), pairAt(operands, 2, words), words),
];

export const elementwiseRules: WordRules<OpOf<"unary" | "binary">> = {
  Abs: (_node, operands, words) => [magnitude(pairAt(operands, 0, words), words)],
  Neg: (_node, operands, words) => [negate(pairAt(operands, 0, words), words)],
  Sign: sign,
  Clip: clip,
  Identity: (_node, [x]) => (x === undefined ? [] : [x]),
  Cast: cast,
  Add: computed((a, b, _signed, words) => add(a, b, words)),
  Sub: computed((a, b, _signed, words) => subtract(a, b, words)),
  Mul: computed((a, b, _signed, words) => multiply(a, b, words)),
  Min: computed(least),
  Max: computed(greatest),
  Div: division,
  Mod: remainder,
  Equal: (node, operands, words) => [
    fullResult(node, isEqual(pairAt(operands, 0, words), pairAt(operands, 1, words), words), words),
  ],
  Less: compared(false, false),
  Greater: compared(true, false),
  GreaterOrEqual: compared(false, true),
  LessOrEqual: compared(true, true),
  Where: where,
};
