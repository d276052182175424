/**
 * Replaces functions near their zeros by polynomials, because shaders have an absolute error of about 2^-23, which
 * costs small results most of their digits. f16 needs no replacement, because its shaders compute in f32.
 */
import type { NodeWriter } from "@mp/onnx/write";
import { inF32 } from "./in-f32.js";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

const number = (value: number, writer: NodeWriter): string => writer.scalar(value, "f32");

/** c0 + x · (c1 + x · (c2 + …)). */
export function polynomial(x: string, coefficients: readonly number[], writer: NodeWriter): string {
  const [last = 0, ...others] = coefficients.toReversed();
  return others.reduce(
    (sum, coefficient) => writer.one("Add", [writer.one("Mul", [sum, x]), number(coefficient, writer)]),
    number(last, writer),
  );
}

/** `near` where |x| is below the limit, `far` elsewhere. */
export function byMagnitude(
  x: string,
  limit: number,
  [near, far]: readonly [string, string],
  writer: NodeWriter,
): string {
  const isNear = writer.one("Less", [writer.one("Abs", [x]), number(limit, writer)]);
  return writer.one("Where", [isNear, near, far]);
}

/** x · p(x²), for an odd function near 0. */
export function odd(x: string, coefficients: readonly number[], writer: NodeWriter): string {
  const square = writer.one("Mul", [x, x]);
  return writer.one("Mul", [x, polynomial(square, coefficients, writer)]);
}

type OfF32 = (x: string, writer: NodeWriter) => string;

/** Applies a form to f32 only: in half dtypes the shader, which computes in f32, is accurate enough. */
const ofF32 =
  <K extends "Exp" | "Log" | "Tanh">(compute: OfF32): OwnLowering<K> =>
  (node, operands, writer) =>
    operandType(node).dtype === "f32" ? [compute(at(operands, 0), writer)] : undefined;

/** ln 2 in two parts; the first has so few bits that its product with an integer below 2^9 is exact. */
const LN2 = { high: 0.693359375, low: -2.121944400546906e-4 };

/**
 * eˣ = 2ⁿ · eʳ with |r| ≤ ½ ln 2, for x clamped to ±104. Near 0 it is 1 + x + x²/2, because the shader's result is
 * below 1 for every negative x, however small, and this error remains after 1 is subtracted.
 */
const exponential: OfF32 = (x, writer) => {
  const one = (op: string, ...inputs: readonly string[]): string => writer.one(op, inputs);
  const bounded = one("Max", one("Min", x, number(104, writer)), number(-104, writer));
  const n = one("Floor", one("Add", one("Mul", bounded, number(Math.LOG2E, writer)), number(0.5, writer)));
  const left = one("Sub", bounded, one("Mul", n, number(LN2.high, writer)));
  const rest = one("Sub", left, one("Mul", n, number(LN2.low, writer)));
  const power = one("Exp", rest);
  // Two factors, because 2ⁿ may be outside the range of normal numbers although the result is inside.
  const half = one("Floor", one("Mul", n, number(0.5, writer)));
  const two = number(2, writer);
  const [first, second] = [half, one("Sub", n, half)].map((part) => one("Pow", two, part)) as [
    string,
    string,
  ];
  const far = one("Mul", one("Mul", power, first), second);
  return byMagnitude(x, 2 ** -10, [polynomial(x, [1, 1, 0.5], writer), far], writer);
};

const SMALL = 2 ** -100;
/** Exponent of the power of 2 that scales numbers near the subnormals before their logarithm is taken. */
export const SHIFT = 64;

/**
 * Scales small x > 0 by 2^`SHIFT`, because the shader's logarithm takes subnormals for the smallest normal number.
 * @returns the scaled values, and bools that mark the scaled ones
 */
export function scaleUp(x: string, writer: NodeWriter): readonly [scaled: string, isSmall: string] {
  const isSmall = writer.one("Less", [x, number(SMALL, writer)]);
  const larger = writer.one("Mul", [x, number(2 ** SHIFT, writer)]);
  return [writer.one("Where", [isSmall, larger, x]), isSmall];
}

/** The logarithm; near 1 as 2 · artanh(s) with s = (x - 1) / (x + 1). */
const logarithm: OfF32 = (x, writer) => {
  const unit = number(1, writer);
  const above = writer.one("Sub", [x, unit]);
  const s = writer.one("Div", [above, writer.one("Add", [x, unit])]);
  const near = odd(s, [2, 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11], writer);
  const [scaled, isSmall] = scaleUp(x, writer);
  const shift = writer.one("Where", [isSmall, number(Math.log(2 ** SHIFT), writer), number(0, writer)]);
  const far = writer.one("Sub", [writer.one("Log", [scaled]), shift]);
  return byMagnitude(s, 0.25, [near, far], writer);
};

/** The hyperbolic tangent; near 0 as x · (15 + x²) / (15 + 6x²). */
const hyperbolicTangent: OfF32 = (x, writer) => {
  const square = writer.one("Mul", [x, x]);
  const below = writer.one("Add", [writer.one("Mul", [square, number(0.48, writer)]), number(1.2, writer)]);
  const factor = writer.one("Add", [writer.one("Reciprocal", [below]), number(1 / 6, writer)]);
  const isNear = writer.one("Less", [square, number(2 ** -4, writer)]);
  return writer.one("Where", [isNear, writer.one("Mul", [x, factor]), writer.one("Tanh", [x])]);
};

/** Coefficients of the error function: 2/√π · (-1)ⁿ / (n! · (2n + 1)). */
export const ERROR_FUNCTION: readonly number[] = [
  1,
  -1 / 3,
  1 / 10,
  -1 / 42,
  1 / 216,
  -1 / 1320,
  1 / 9360,
  -1 / 75600,
].map((term) => (2 / Math.sqrt(Math.PI)) * term);

export const erf: OwnLowering<"Erf"> = (node, operands, writer) => [
  inF32(node, at(operands, 0), writer, (x) =>
    byMagnitude(x, 0.75, [odd(x, ERROR_FUNCTION, writer), writer.one("Erf", [x])], writer),
  ),
];

/** Coefficients of (eˣ - 1) / x near 0: 1/n!, with n from 1. */
const MINUS_ONE = [1, 2, 6, 24, 120, 720, 5040, 40_320, 362_880, 3_628_800, 39_916_800].map(
  (factorial) => 1 / factorial,
);

export const elu: OwnLowering<"Elu"> = (node, operands, writer) => {
  const { alpha } = node.attributes;
  return [
    inF32(node, at(operands, 0), writer, (x) => {
      const below = writer.one("Min", [x, number(0, writer)]);
      const near = writer.one("Mul", [below, polynomial(below, MINUS_ONE, writer)]);
      const far = writer.one("Sub", [writer.one("Exp", [below]), number(1, writer)]);
      const minusOne = byMagnitude(below, 1, [near, far], writer);
      const scaled = writer.one("Mul", [minusOne, number(alpha, writer)]);
      return writer.one("Where", [writer.one("Greater", [x, number(0, writer)]), x, scaled]);
    }),
  ];
};

export const exp: OwnLowering<"Exp"> = ofF32(exponential);
export const log: OwnLowering<"Log"> = ofF32(logarithm);
export const tanh: OwnLowering<"Tanh"> = ofF32(hyperbolicTangent);
