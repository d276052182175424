/** Integers that pass through floats, saturate, or are compared by half of their bits. */
import type { DType, HostTensor, Op, OpAttributes } from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import { type IntegerDType, integerData, wrap } from "../../src/samples/integers.js";
import { changing, dataOf, evaluateNode, type HostKernel, oracleWithKernels, toBigints } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const isWord = (dtype: DType): dtype is "i64" | "u64" => dtype === "i64" || dtype === "u64";

/** Rounds 64-bit integers to f64. */
const doubled = (given: HostTensor): HostTensor =>
  isWord(given.dtype)
    ? integerData(
        given.dtype,
        toBigints(given).map((x) => wrap(given.dtype as IntegerDType, BigInt(Number(x)))),
        given.shape,
      )
    : given;

/** Rounds i32 values to f32. */
const floated = (given: HostTensor): HostTensor =>
  given.dtype === "i32" ? hostData("i32", toNumbers(given).map(Math.fround), given.shape) : given;

/** A kernel whose operands pass through another format. */
const through =
  <K extends Op>(
    op: K,
    passed: (given: HostTensor) => HostTensor,
    places: readonly number[],
  ): HostKernel<K> =>
  (operands, attributes) =>
    evaluateNode(
      op,
      dataOf(operands).map((given, place) => (places.includes(place) ? passed(given) : given)),
      attributes,
    );

const LIMITS: Readonly<Partial<Record<DType, readonly [bigint, bigint]>>> = {
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** Saturates at the ends of the range instead of wrapping. */
const saturating =
  (op: Op, dtype: "i32" | "i64", f: (...operands: readonly bigint[]) => bigint): HostKernel<Op> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    const [right] = evaluateNode(op, inputs, attributes) as [HostTensor];
    const alike = inputs.every(({ data }) => data.length === right.data.length);
    if (right.dtype !== dtype || !alike) return [right];
    const columns = inputs.map(toBigints);
    const [low, high] = LIMITS[dtype] as readonly [bigint, bigint];
    const held = Array.from({ length: right.data.length }, (_, at) => {
      const x = f(...columns.map((column) => column[at] ?? 0n));
      return x < low ? low : x > high ? high : x;
    });
    return [integerData(dtype, held, right.shape)];
  };

/** Compares high words correctly, but low words as if they were signed. */
function isLess(a: bigint, b: bigint): boolean {
  const [high, other] = [a >> 32n, b >> 32n];
  return high === other ? BigInt.asIntN(32, a) < BigInt.asIntN(32, b) : high < other;
}

const choosing =
  (op: "Min" | "Max"): HostKernel<"Min"> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    const [right] = evaluateNode(op, inputs, attributes) as [HostTensor];
    if (right.dtype !== "i64" || inputs.some(({ data }) => data.length !== right.data.length)) return [right];
    const [a = [], b = []] = inputs.map(toBigints);
    const values = a.map((x, at) => {
      const y = b[at] ?? 0n;
      return isLess(x, y) === (op === "Min") ? x : y;
    });
    return [integerData("i64", values, right.shape)];
  };

const extreme =
  (op: "ReduceMin" | "ReduceMax"): HostKernel<"ReduceMin"> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    if (x.dtype !== "i64" || x.shape.length !== 1 || x.data.length === 0)
      return evaluateNode(op, [x], attributes);
    const least = op === "ReduceMin";
    const value = toBigints(x).reduce((best, y) => (isLess(y, best) === least ? y : best));
    return [integerData("i64", [value], attributes.keepdims ? [1] : [])];
  };

const sign: HostKernel<"Sign"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  if (x.dtype !== "i64") return evaluateNode("Sign", [x], attributes);
  const signs = toBigints(x).map((y) => (y === 0n ? 0n : isLess(0n, y) ? 1n : -1n));
  return [integerData("i64", signs, x.shape)];
};

const cast =
  (
    isFaulty: (from: DType, to: DType) => boolean,
    f: (x: HostTensor, to: DType) => HostTensor,
  ): HostKernel<"Cast"> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    return isFaulty(x.dtype, attributes.to) ? [f(x, attributes.to)] : evaluateNode("Cast", [x], attributes);
  };

const castTo = (x: HostTensor, to: DType): HostTensor => evaluateNode("Cast", [x], { to })[0] as HostTensor;

/** Computes a sum or product in f64 and keeps the low bits at the end. */
const foldedInDoubles =
  (op: "ReduceSum" | "ReduceProd", dtype: IntegerDType): HostKernel<"ReduceSum"> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    if (x.dtype !== dtype || x.shape.length !== 1) return evaluateNode(op, [x], attributes);
    const total = toNumbers(x).reduce(
      (sum, y) => (op === "ReduceSum" ? sum + y : sum * y),
      op === "ReduceSum" ? 0 : 1,
    );
    const value = Number.isFinite(total) ? BigInt(total) : 0n;
    return [integerData(dtype, [wrap(dtype, value)], attributes.keepdims ? [1] : [])];
  };

const AXES = ["op", "cast", "size", "reduce", "integer", "rare"];
const MOVERS = ["Gather", "Transpose", "Slice", "Concat", "Where", "Pad", "Tile", "Split"] as const;
const dataPlaces: { readonly [K in (typeof MOVERS)[number]]: readonly number[] } = {
  Gather: [0],
  Transpose: [0],
  Slice: [0],
  Concat: [0, 1, 2],
  Where: [1, 2],
  Pad: [0],
  Tile: [0],
  Split: [0],
};

const moving = (passed: (given: HostTensor) => HostTensor) =>
  Object.fromEntries(MOVERS.map((op) => [op, through(op, passed, dataPlaces[op])]));

const COMPARISONS = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"] as const;
const SEARCHES = ["ArgMax", "ArgMin"] as const;

const INTEGERS_AT_LARGE_SIZES = /^size\/\w+-(i32|i64|u64|u8)\//;

export const integerFaults: readonly WrongBackend[] = [
  {
    fault: "integers of 64 bits are moved as doubles",
    factory: () => oracleWithKernels(moving(doubled)),
    axes: AXES,
    among: /\/(Gather|Transpose|Slice|Concat|Where|Pad|Tile|Split)-/,
    named: MOVERS.flatMap((op) => ["i64", "u64"].map((dtype) => `integer/${op}-${dtype}/moves-every-bit`)),
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/Where-[iu]64\/extremes$/],
  },
  {
    fault: "integers of 32 bits are moved as floats",
    factory: () => oracleWithKernels(moving(floated)),
    axes: AXES,
    among: /\/(Gather|Transpose|Slice|Concat|Where|Pad|Tile|Split)-/,
    named: MOVERS.map((op) => `integer/${op}-i32/moves-every-bit`),
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/Where-i32\/extremes$/],
  },
  {
    fault: "sums and differences of i64 saturate",
    factory: () =>
      oracleWithKernels({
        Add: saturating("Add", "i64", (a = 0n, b = 0n) => a + b),
        Sub: saturating("Sub", "i64", (a = 0n, b = 0n) => a - b),
      }),
    axes: AXES,
    among: /\/(Add|Sub)-/,
    named: ["integer/Add-i64/wraps-around", "integer/Sub-i64/wraps-around"],
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/(Add|Sub)-i64\/extremes$/],
  },
  {
    fault: "-(-2^31) is 2^31 - 1",
    factory: () =>
      oracleWithKernels({
        Neg: saturating("Neg", "i32", (x = 0n) => -x),
        Abs: saturating("Abs", "i32", (x = 0n) => (x < 0n ? -x : x)),
      }),
    axes: AXES,
    among: /\/(Neg|Abs)-/,
    named: ["integer/Neg-i32/wraps-around", "integer/Abs-i32/wraps-around"],
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/(Abs|Neg)-i32\/extremes$/],
  },
  {
    fault: "low words of i64 are compared as if they had a sign",
    factory: () =>
      oracleWithKernels({
        Sign: sign,
        Min: choosing("Min"),
        Max: choosing("Max"),
        ReduceMin: extreme("ReduceMin"),
        ReduceMax: extreme("ReduceMax"),
      }),
    axes: AXES,
    among: /\/(Sign|Min|Max|ReduceMin|ReduceMax)-/,
    named: [
      "integer/Sign-i64/keeps-every-bit",
      "integer/Min-i64/keeps-every-bit",
      "integer/Max-i64/keeps-every-bit",
      "integer/ReduceMin-i64/looks-at-every-bit",
      "integer/ReduceMax-i64/looks-at-every-bit",
    ],
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/\w+-i64\/(extremes|words-of-one-high-half)$/],
  },
  {
    fault: "integers of 64 bits are compared as doubles",
    factory: () =>
      oracleWithKernels(Object.fromEntries(COMPARISONS.map((op) => [op, through(op, doubled, [0, 1])]))),
    axes: AXES,
    among: /\/(Equal|Less|Greater)/,
    named: COMPARISONS.flatMap((op) =>
      ["i64", "u64"].map((dtype) => `integer/${op}-${dtype}/tells-neighbours-apart`),
    ),
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/\w+-[iu]64\/extremes$/],
  },
  {
    fault: "the largest of 64 bits are sought among doubles",
    factory: () =>
      oracleWithKernels(
        Object.fromEntries([...SEARCHES, "TopK" as const].map((op) => [op, through(op, doubled, [0])])),
      ),
    axes: AXES,
    among: /\/(ArgMax|ArgMin|TopK)-/,
    named: [...SEARCHES, "TopK"].flatMap((op) =>
      ["i64", "u64"].map((dtype) => `integer/${op}-${dtype}/looks-at-every-bit`),
    ),
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/\w+-[iu]64\/extremes$/],
  },
  {
    fault: "products of i32 and sums of i64 run in doubles",
    factory: () =>
      oracleWithKernels({
        ReduceProd: foldedInDoubles("ReduceProd", "i32"),
        ReduceSum: foldedInDoubles("ReduceSum", "i64"),
      }),
    axes: AXES,
    among: /\/(ReduceProd|ReduceSum)-/,
    named: ["integer/ReduceProd-i32/wraps-around", "integer/ReduceSum-i64/wraps-around"],
  },
  {
    fault: "integers become bf16 by way of f32",
    factory: () =>
      oracleWithKernels({
        Cast: cast(
          (from, to) => (from === "i32" || isWord(from)) && to === "bf16",
          (x, to) => castTo(castTo(x, "f32"), to),
        ),
      }),
    axes: AXES,
    among: /^(cast|integer|op)\/Cast|^cast\//,
    named: ["i32", "i64", "u64"].map((from) => `integer/Cast-${from}-to-bf16/rounds-once`),
    consequences: [/^cast\/\w+-to-bf16\/rounds-large-integers-once$/],
  },
  {
    fault: "integers of 64 bits become floats by way of doubles",
    factory: () =>
      oracleWithKernels({
        Cast: cast(
          (from, to) => isWord(from) && to === "f32",
          (x) => hostData("f32", toNumbers(x), x.shape),
        ),
      }),
    axes: AXES,
    among: /^(cast|integer|op)\/Cast|^cast\//,
    named: ["i64", "u64"].map((from) => `integer/Cast-${from}-to-f32/rounds-once`),
    consequences: [/^cast\/\w+-to-f32\/rounds-large-integers-once$/],
  },
  {
    fault: "floats become i64 by way of i32",
    factory: () =>
      oracleWithKernels({
        Cast: cast(
          (from, to) => from === "f32" && to === "i64",
          (x, to) => castTo(castTo(x, "i32"), to),
        ),
      }),
    axes: AXES,
    among: /^(cast|integer|op)\/Cast|^cast\//,
    named: ["integer/Cast-f32-to-i64/up-to-the-largest"],
  },
  {
    fault: "updates of i64 are added as doubles",
    factory: () => oracleWithKernels(changing(["ScatterElements", "ScatterND"], (result) => doubled(result))),
    axes: AXES,
    among: /\/Scatter/,
    named: ["ScatterElements", "ScatterND"].flatMap((op) =>
      ["i64", "u64"].map((dtype) => `integer/${op}-${dtype}/moves-every-bit`),
    ),
  },
  {
    fault: "limits of i64 are compared by signed low words",
    factory: () =>
      oracleWithKernels({
        Clip: (operands, attributes: OpAttributes["Clip"]) => {
          const [x] = dataOf(operands) as [HostTensor];
          const { max } = attributes;
          const [right] = evaluateNode("Clip", [x], attributes) as [HostTensor];
          if (x.dtype !== "i64" || max === undefined) return [right];
          const limit = BigInt(Math.floor(max));
          const clipped = toBigints(right);
          const kept = toBigints(x).map((y, at) => (isLess(y, limit) ? y : (clipped[at] ?? 0n)));
          return [integerData("i64", attributes.min === undefined ? kept : clipped, x.shape)];
        },
      }),
    axes: AXES,
    among: /\/Clip-/,
    named: ["integer/Clip-i64/keeps-every-bit"],
    consequences: [INTEGERS_AT_LARGE_SIZES, /^op\/Clip-i64\/extremes$/],
  },
];
