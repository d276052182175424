import type { ProducerOf } from "../lowerings/lower-node.js";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";
import { boundMagnitudes } from "./magnitudes.js";

/** Numbers from 1 / LARGEST to LARGEST have normal reciprocals. */
const LARGEST = 2 ** 126;
/** Divisors above this magnitude, or below its reciprocal, are scaled. */
const LARGE = 2 ** 100;
const FACTOR = 2 ** 64;

/**
 * Scales both operands so that the divisor is in the middle of the range, unless bounds show that it already is. The
 * engine computes x · (1 / y), where 1 / y is infinite for a subnormal y and subnormal for a large y.
 */
export const quotient =
  (producerOf: ProducerOf): OwnLowering<"Div"> =>
  (node, operands, writer, standard) => {
    const { dtype } = operandType(node);
    const [, divisor] = node.inputs;
    if (dtype !== "f32" || divisor === undefined) return undefined;
    const known = boundMagnitudes(divisor, producerOf);
    if (known !== undefined && known.least >= 1 / LARGEST && known.most <= LARGEST) return undefined;
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
