import type { HostTensor, Shape } from "@mp/core";
import { elementCount, type Op, type OpAttributes } from "@mp/core/graph";
import { generated } from "../host-data.js";
import { sample } from "../op-sample.js";
import {
  counting,
  LONG,
  natural,
  ROWS,
  type SizeRow,
  type SizeRows,
  smooth,
  TALL,
  WIDE,
  whole,
} from "./size-row.js";

type UnaryOp =
  | "Abs" | "Neg" | "Sign" | "Floor" | "Ceil" | "Round" | "Reciprocal" | "Exp" | "Log" | "Sqrt" | "Erf" | "Tanh"
  | "Sigmoid" | "Relu" | "Softplus" | "Sin" | "Cos" | "LeakyRelu" | "Elu" | "Gelu" | "Clip" | "Not" | "IsNaN"
  | "IsInf" | "Identity" | "Cast"; // biome-ignore format: one list

type BinaryOp =
  | "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Min" | "Max" | "Equal" | "Greater" | "GreaterOrEqual" | "Less"
  | "LessOrEqual" | "And" | "Or" | "Xor" | "Where"; // biome-ignore format: one list

function unary<K extends Op>(
  attributes: OpAttributes[K],
  make: (shape: Shape) => HostTensor = smooth,
): SizeRow<K> {
  return () => [sample<K>(attributes, make(LONG)), sample<K>(attributes, make(TALL))];
}

const plain = {};
const positive = (shape: Shape): HostTensor => smooth(shape, 0.1, 9);
const bools = (shape: Shape): HostTensor => generated("bool", shape, (at) => (Math.floor(at / 3) + at) % 2);
/** Some NaN and infinities, including the last elements. */
const nonFinite = (shape: Shape): HostTensor => {
  const size = elementCount(shape, "test data");
  return generated("f32", shape, (at) =>
    at % 1_009 === 5 || at === size - 1
      ? Number.NaN
      : at % 1_013 === 7 || at === size - 2
        ? Number.NEGATIVE_INFINITY
        : at,
  );
};

const unarySizes: SizeRows<UnaryOp> = {
  Abs: unary(plain),
  Neg: unary(plain),
  Sign: unary(plain),
  Floor: unary(plain),
  Ceil: unary(plain),
  Round: unary(plain),
  Reciprocal: unary(plain, positive),
  Exp: unary(plain),
  Log: unary(plain, positive),
  Sqrt: unary(plain, positive),
  Erf: unary(plain),
  Tanh: unary(plain),
  Sigmoid: unary(plain),
  Relu: unary(plain),
  Softplus: unary(plain),
  Sin: unary(plain),
  Cos: unary(plain),
  LeakyRelu: unary({ alpha: 0.125 }),
  Elu: unary({ alpha: 1 }),
  Gelu: unary({ approximate: "none" }),
  Clip: unary({ min: 1_000, max: 66_000 }, counting),
  Not: unary(plain, bools),
  IsNaN: unary(plain, nonFinite),
  IsInf: unary(plain, nonFinite),
  Identity: unary(plain, counting),
  Cast: unary({ to: "i32" }, counting),
};

/** With equal shapes, and broadcast along each axis. */
function binary<K extends Op>(
  attributes: OpAttributes[K],
  left: (shape: Shape) => HostTensor = whole,
  right: (shape: Shape) => HostTensor = natural,
): SizeRow<K> {
  return () => [
    sample<K>(attributes, left(LONG), right(LONG)),
    sample<K>(attributes, left(TALL), right([18])),
    sample<K>(attributes, left([1]), right(WIDE)),
    sample<K>(attributes, left([18, 1]), right([4_134])),
  ];
}

const binarySizes: SizeRows<BinaryOp> = {
  Add: binary(plain, counting),
  Sub: binary(plain, counting),
  Mul: binary(plain, counting),
  Div: binary(plain, smooth),
  Pow: binary(plain, positive),
  Mod: binary({ fmod: true }, counting),
  Min: binary(plain),
  Max: binary(plain),
  Equal: binary(plain),
  Greater: binary(plain),
  GreaterOrEqual: binary(plain),
  Less: binary(plain),
  LessOrEqual: binary(plain),
  And: binary(plain, bools, (shape) => generated("bool", shape, (at) => at % 2)),
  Or: binary(plain, bools, (shape) => generated("bool", shape, (at) => at % 2)),
  Xor: binary(plain, bools, (shape) => generated("bool", shape, (at) => at % 2)),
  Where: () => [
    sample<"Where">(plain, bools(LONG), counting(LONG), whole(LONG)),
    sample<"Where">(plain, bools([4_133, 1]), whole([18]), counting(TALL)),
    sample<"Where">(plain, bools([2]), counting(ROWS), whole([66_002, 1])),
  ],
};

export const elementwiseSizes: SizeRows<UnaryOp | BinaryOp> = { ...unarySizes, ...binarySizes };
