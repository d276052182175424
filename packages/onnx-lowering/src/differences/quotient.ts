import type { HostTensor } from "@mp/core";
import type { ConstantOf } from "../lowerings/division.js";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";

/** Divisors up to this magnitude, and down to its reciprocal, have a normal reciprocal. */
const LARGE = 2 ** 100;
const FACTOR = 2 ** 64;

const hasReciprocals = ({ dtype, data }: HostTensor): boolean =>
  dtype === "f32" &&
  Array.from(data as Float32Array, Math.abs).every((size) => size <= LARGE && size >= 1 / LARGE);

/**
 * Scales both operands so that the divisor is in the middle of the range: the engine computes x · (1 / y), and 1 / y is
 * infinite if y is subnormal, and subnormal if y is large.
 */
export const quotient =
  (constantOf: ConstantOf): OwnLowering<"Div"> =>
  (node, operands, writer, standard) => {
    const { dtype } = operandType(node);
    const [, divisor] = node.inputs;
    if (dtype !== "f32" || divisor === undefined) return undefined;
    const known = constantOf(divisor);
    if (known !== undefined && hasReciprocals(known)) return undefined;
    const number = (value: number): string => writer.scalar(value, "f32");
    const y = at(operands, 1);
    const size = writer.one("Abs", [y]);
    const [isSmall, isLarge] = [
      writer.one("Less", [size, number(1 / LARGE)]),
      writer.one("Greater", [size, number(LARGE)]),
    ];
    const factor = writer.one("Where", [
      isSmall,
      number(FACTOR),
      writer.one("Where", [isLarge, number(1 / FACTOR), number(1)]),
    ]);
    return standard([writer.one("Mul", [at(operands, 0), factor]), writer.one("Mul", [y, factor])]);
  };
