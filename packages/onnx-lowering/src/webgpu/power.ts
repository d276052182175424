/** Computes the power of |x|, then corrects signs, zeros, infinities and NaN. */
import { isComputeFloat } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import type { ConstantOf } from "../lowerings/division.js";
import { inF32 } from "../lowerings/in-f32.js";
import { product } from "../lowerings/operators.js";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";
import { positivePower } from "./positive-power.js";

/** The exponent as a number, if it is a constant f32 tensor of one element; undefined otherwise. */
function constantExponent(
  node: Parameters<OwnLowering<"Pow">>[0],
  constantOf: ConstantOf,
): number | undefined {
  const [, exponent] = node.inputs;
  const constant = exponent === undefined ? undefined : constantOf(exponent);
  if (constant === undefined || constant.data.length !== 1 || constant.dtype !== "f32") return undefined;
  return constant.shape.length <= operandType(node).shape.length ? Number(constant.data[0]) : undefined;
}

/** @param constantOf finds the constant that defines a value; constant exponents have shorter forms */
export const power =
  (constantOf: ConstantOf): OwnLowering<"Pow"> =>
  (node, operands, writer) => {
    const { dtype } = operandType(node);
    if (!isComputeFloat(dtype)) return undefined;
    const [x, y] = [at(operands, 0), at(operands, 1)];
    const known = constantExponent(node, constantOf);
    if (known === 2) return [writer.one("Mul", [x, x])];
    return [
      inF32(node, x, writer, (wide) => {
        if (known === 3) return writer.one("Mul", [writer.one("Mul", [wide, wide]), wide]);
        const base = wholeBase(node, wide, writer);
        return powerInF32(base, writer.cast(y, "f32"), writer);
      }),
    ];
  };

/** Expands a base that would broadcast along the last axis, because there the kernel takes only a scalar base. */
function wholeBase(node: Parameters<OwnLowering<"Pow">>[0], base: string, writer: NodeWriter): string {
  const { shape } = operandType(node);
  const result = node.outputs[0]?.shape ?? shape;
  const isScalar = shape.length <= 1 && product(shape) === 1;
  if (isScalar || shape.at(-1) === result.at(-1)) return base;
  return writer.one("Expand", [base, writer.ints(result)]);
}

function powerInF32(x: string, y: string, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const one = (op: string, ...inputs: readonly string[]): string => writer.one(op, inputs);
  const [zero, infinity] = [number(0), number(Number.POSITIVE_INFINITY)];
  const magnitude = one("Abs", x);
  // 0 to a power is infinity to the opposite power.
  const isZero = one("Equal", x, zero);
  const base = one("Where", isZero, infinity, magnitude);
  const exponent = one("Where", isZero, one("Neg", y), y);
  const isNumber = one("Less", base, infinity);
  const ordinary = positivePower(base, exponent, writer);
  const raised = one("Where", isNumber, ordinary, one("Pow", base, exponent));
  const isOne = one("Or", one("Equal", magnitude, number(1)), one("Equal", y, zero));
  const positive = one("Where", isOne, number(1), raised);
  const isLost = one("And", one("Not", one("Equal", y, y)), one("Not", one("Equal", x, number(1))));
  const isWhole = one("Equal", one("Floor", y), y);
  const half = one("Mul", y, number(0.5));
  const isOdd = one("And", isWhole, one("Not", one("Equal", one("Floor", half), half)));
  const isBelow = one("Or", one("Less", x, zero), one("Less", one("Reciprocal", x), zero));
  const signed = one("Where", one("And", isBelow, isOdd), one("Neg", positive), positive);
  const isUndefined = one("And", one("And", isBelow, isNumber), one("Not", isWhole));
  return one("Where", one("Or", isLost, isUndefined), number(Number.NaN), signed);
}
