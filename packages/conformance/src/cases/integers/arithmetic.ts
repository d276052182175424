/** Integer arithmetic wraps around at the end of its range, and never passes through f64. */
import type { HostTensor, OpAttributes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { hostData } from "../../host-data.js";
import {
  drawIntegers,
  edges,
  greater,
  holds,
  INTEGER_DTYPES,
  type IntegerDType,
  integerData,
  lesser,
  neighbours,
  wrap,
} from "../../samples/integers.js";
import { integerCase, type KnownSample } from "./integer-case.js";

const plain = {};

type BinaryOp = "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Min" | "Max";
type ComparisonOp = "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual";

/** Pairs of operands: every edge with every other edge, random integers, and neighbors with each other. */
function integerPairs(
  dtype: IntegerDType,
  draw: (count: number) => readonly bigint[],
  takes: (a: bigint, b: bigint) => boolean,
): readonly (readonly [readonly bigint[], readonly bigint[]])[] {
  const all = edges(dtype);
  const crossed = all.flatMap((a) => all.map((b) => [a, b] as const));
  const left = draw(257);
  const right = draw(257);
  const drawn = left.map((a, at) => [a, right[at] ?? 1n] as const);
  const close = neighbours(dtype).map((values) =>
    values.map((a, at) => [a, values.at(-1 - at) ?? a] as const),
  );
  return [crossed, drawn, ...close]
    .map((pairs) => pairs.filter(([a, b]) => takes(a, b)))
    .map((pairs) => [pairs.map(([a]) => a), pairs.map(([, b]) => b)]);
}

interface BinaryRule {
  readonly f: (a: bigint, b: bigint) => bigint;
  readonly takes?: (a: bigint, b: bigint) => boolean;
  readonly dtypes?: readonly IntegerDType[];
}

/** Whether to divide; division by 0 has separate cases. The lowest integer divided by -1 does not fit, and wraps. */
const divides = (_: bigint, b: bigint): boolean => b !== 0n;
const byDivisor = (a: bigint, b: bigint): bigint => {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
};

const binaryRules: Readonly<Record<BinaryOp, BinaryRule>> = {
  Add: { f: (a, b) => a + b },
  Sub: { f: (a, b) => a - b },
  Mul: { f: (a, b) => a * b },
  Div: { f: (a, b) => a / b, takes: divides },
  Mod: { f: byDivisor, takes: divides, dtypes: ["i32", "i64", "u8"] },
  Min: { f: lesser },
  Max: { f: greater },
};

const binary: readonly ConformanceCase[] = (Object.keys(binaryRules) as BinaryOp[]).flatMap((op) => {
  const { f, takes = () => true, dtypes = INTEGER_DTYPES } = binaryRules[op];
  const attributes = (op === "Mod" ? { fmod: false } : plain) as OpAttributes["Mod"];
  const wraps = op === "Add" || op === "Sub" || op === "Mul";
  return dtypes.map((dtype) =>
    integerCase(
      `integer/${op}-${dtype}/${wraps ? "wraps-around" : "keeps-every-bit"}`,
      op as "Mod",
      (random) =>
        integerPairs(dtype, (count) => drawIntegers(random, dtype, count), takes).map(([a, b]) => ({
          attributes,
          inputs: [integerData(dtype, a), integerData(dtype, b)],
          want: [
            integerData(
              dtype,
              a.map((x, at) => wrap(dtype, f(x, b[at] ?? 1n))),
            ),
          ],
        })),
    ),
  );
});

const comparisonRules: Readonly<Record<ComparisonOp, (a: bigint, b: bigint) => boolean>> = {
  Equal: (a, b) => a === b,
  Greater: (a, b) => a > b,
  GreaterOrEqual: (a, b) => a >= b,
  Less: (a, b) => a < b,
  LessOrEqual: (a, b) => a <= b,
};

const comparisons: readonly ConformanceCase[] = (Object.keys(comparisonRules) as ComparisonOp[]).flatMap(
  (op) =>
    INTEGER_DTYPES.map((dtype) =>
      integerCase(`integer/${op}-${dtype}/tells-neighbours-apart`, op, (random) =>
        integerPairs(
          dtype,
          (count) => drawIntegers(random, dtype, count),
          () => true,
        ).map(([a, b]) => {
          const answers = a.map((x, at) => (comparisonRules[op](x, b[at] ?? 1n) ? 1 : 0));
          return {
            attributes: plain,
            inputs: [integerData(dtype, a), integerData(dtype, b)],
            want: [hostData("bool", answers)],
          };
        }),
      ),
    ),
);

type UnaryOp = "Neg" | "Abs" | "Sign";

const unaryRules: Readonly<Record<UnaryOp, (x: bigint) => bigint>> = {
  Neg: (x) => -x,
  Abs: (x) => (x < 0n ? -x : x),
  Sign: (x) => (x > 0n ? 1n : x < 0n ? -1n : 0n),
};

/**
 * Edges, random integers, and short vectors of neighbors, since some engines use different code for whole vectors and
 * for the remainder.
 */
function integerVectors(
  dtype: IntegerDType,
  draw: (count: number) => readonly bigint[],
): readonly (readonly bigint[])[] {
  return [edges(dtype), draw(257), ...neighbours(dtype)];
}

const unary: readonly ConformanceCase[] = (Object.keys(unaryRules) as UnaryOp[]).flatMap((op) =>
  (["i32", "i64"] as const).map((dtype) =>
    integerCase(
      `integer/${op}-${dtype}/${op === "Sign" ? "keeps-every-bit" : "wraps-around"}`,
      op,
      (random) =>
        integerVectors(dtype, (count) => drawIntegers(random, dtype, count)).map((values) => ({
          attributes: plain,
          inputs: [integerData(dtype, values)],
          want: [
            integerData(
              dtype,
              values.map((x) => wrap(dtype, unaryRules[op](x))),
            ),
          ],
        })),
    ),
  ),
);

const LIMITS: readonly OpAttributes["Clip"][] = [
  { max: 3 },
  { min: 5 },
  { min: 2, max: 100 },
  { min: -(2 ** 40), max: 2 ** 40 },
  { min: -(2 ** 31), max: 2 ** 31 - 1 },
];

const clip = (x: bigint, { min, max }: OpAttributes["Clip"]): bigint => {
  if (min !== undefined && x < BigInt(min)) return BigInt(min);
  return max !== undefined && x > BigInt(max) ? BigInt(max) : x;
};

const clips: readonly ConformanceCase[] = INTEGER_DTYPES.map((dtype) =>
  integerCase(`integer/Clip-${dtype}/keeps-every-bit`, "Clip", (random) =>
    LIMITS.filter(({ min = 0, max = 0 }) => holds(dtype, BigInt(min)) && holds(dtype, BigInt(max))).flatMap(
      (attributes) =>
        integerVectors(dtype, (count) => drawIntegers(random, dtype, count)).map(
          (values): KnownSample<"Clip"> => ({
            attributes,
            inputs: [integerData(dtype, values)],
            want: [
              integerData(
                dtype,
                values.map((x) => clip(x, attributes)),
              ),
            ],
          }),
        ),
    ),
  ),
);

/** Scalars on either side of a broadcast, since engines use different code for a constant and for a vector. */
const withScalars: readonly ConformanceCase[] = (["Min", "Max"] as const).flatMap((op) =>
  INTEGER_DTYPES.map((dtype) =>
    integerCase(`integer/${op}-${dtype}/with-a-scalar`, op, () =>
      neighbours(dtype).flatMap((values): KnownSample<"Min">[] => {
        const five = (side: HostTensor[]): KnownSample<"Min"> => ({
          attributes: plain,
          inputs: side,
          want: [
            integerData(
              dtype,
              values.map((x) => binaryRules[op].f(x, 5n)),
            ),
          ],
        });
        const [x, scalar] = [integerData(dtype, values), integerData(dtype, [5n], [])];
        return [five([x, scalar]), five([scalar, x])];
      }),
    ),
  ),
);

export const integerArithmeticCases: readonly ConformanceCase[] = [
  ...binary,
  ...comparisons,
  ...unary,
  ...clips,
  ...withScalars,
];
