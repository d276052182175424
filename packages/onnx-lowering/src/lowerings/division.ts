/**
 * Divides signed integers safely. The lowest integer divided by -1 has no quotient in its dtype, so the processor
 * raises SIGFPE, which ends the process. The engine checks only for a divisor of 0, which fails the run.
 */
import type { DType, HostTensor, Value } from "@mp/graph";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

const SIGNED: readonly DType[] = ["i32", "i64"];

/** Returns the constant that defines a value; undefined if the value is not a constant. */
export type ConstantOf = (value: Value) => HostTensor | undefined;

const holdsMinusOne = ({ data }: HostTensor): boolean =>
  data.some((element: number | bigint) => element === -1 || element === -1n);

/**
 * Negates both operands where the divisor is -1: x / -1 becomes -x / 1, and negation wraps. A remainder by ±1
 * is 0 either way. Undefined if the divisor is a constant without -1.
 */
export const guardDivision =
  (constantOf: ConstantOf): OwnLowering<"Div" | "Mod"> =>
  (node, operands, writer, standard) => {
    const { dtype } = operandType(node);
    const divisor = node.inputs[1];
    if (!SIGNED.includes(dtype) || divisor === undefined) return undefined;
    const known = constantOf(divisor);
    if (known !== undefined && !holdsMinusOne(known)) return undefined;
    const [x, y] = [at(operands, 0), at(operands, 1)];
    const minusOne = writer.scalar(-1, dtype);
    const isMinusOne = writer.one("Equal", [y, minusOne]);
    const sign = writer.one("Where", [isMinusOne, minusOne, writer.scalar(1, dtype)]);
    return standard([writer.one("Mul", [x, sign]), writer.one("Mul", [y, sign])]);
  };
