import type { DType } from "@mp/core";
import { bytesPerElement, isFloat, type Op, type OpAttributes } from "@mp/core/graph";
import { codeOfElementType } from "../element-type.js";
import { float, int, type OnnxAttributes, string } from "../model.js";
import { type Lowering, type LoweringTable, operandAt, typeAt } from "./lowering.js";

/** The ONNX op of the same name on the same operands. */
export function plain<K extends Op>(
  attributes?: (node: Parameters<Lowering<K>>[0]) => OnnxAttributes,
): Lowering<K> {
  return (node, operands, writer) => writer.emit(node.op, operands, attributes?.(node) ?? {});
}

type PlainOp =
  | "Abs" | "Neg" | "Sign" | "Floor" | "Ceil" | "Round" | "Reciprocal" | "Exp" | "Log" | "Sqrt" | "Erf" | "Tanh"
  | "Sigmoid" | "Relu" | "Softplus" | "Sin" | "Cos" | "Not" | "IsNaN" | "IsInf" | "Identity" | "Add" | "Sub" | "Mul"
  | "Div" | "Pow" | "Min" | "Max" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or"
  | "Xor" | "MatMul"; // biome-ignore format: one list

export const elementwiseLowerings: LoweringTable<
  PlainOp | "LeakyRelu" | "Elu" | "Gelu" | "Clip" | "Cast" | "Mod" | "Gemm"
> = {
  Abs: plain(),
  Neg: plain(),
  Sign: plain(),
  Floor: plain(),
  Ceil: plain(),
  Round: plain(),
  Reciprocal: plain(),
  Exp: plain(),
  Log: plain(),
  Sqrt: plain(),
  Erf: plain(),
  Tanh: plain(),
  Sigmoid: plain(),
  Relu: plain(),
  Softplus: plain(),
  Sin: plain(),
  Cos: plain(),
  Not: plain(),
  IsNaN: plain(),
  IsInf: plain(),
  Identity: plain(),
  Add: plain(),
  Sub: plain(),
  Mul: plain(),
  Div: plain(),
  Pow: plain(),
  Min: plain(),
  Max: plain(),
  Equal: plain(),
  Greater: plain(),
  GreaterOrEqual: plain(),
  Less: plain(),
  LessOrEqual: plain(),
  And: plain(),
  Or: plain(),
  Xor: plain(),
  MatMul: plain(),
  LeakyRelu: plain(({ attributes: { alpha } }) => ({ alpha: float(alpha) })),
  Elu: plain(({ attributes: { alpha } }) => ({ alpha: float(alpha) })),
  Gelu: plain(({ attributes: { approximate } }) => ({ approximate: string(approximate) })),
  Clip: (node, operands, writer) => {
    const { dtype } = typeAt(node, 0);
    const { min, max } = clipBounds(dtype, node.attributes);
    const inputs = [
      operandAt(operands, 0),
      ...[min, max].map((bound) => (bound === undefined ? "" : writer.scalar(bound, dtype))),
    ];
    while (inputs.at(-1) === "") inputs.pop();
    return writer.emit("Clip", inputs);
  },
  Cast: plain(({ attributes: { to } }) => castAttributes(to)),
  Mod: plain(({ attributes: { fmod } }) => ({ fmod: int(fmod ? 1 : 0) })),
  Gemm: plain(({ attributes: { transA, transB, alpha, beta } }) => ({
    transA: int(transA ? 1 : 0),
    transB: int(transB ? 1 : 0),
    alpha: float(alpha),
    beta: float(beta),
  })),
};

/** The bounds of a Clip as values of its dtype: none where it bounds nothing. */
export function clipBounds(
  dtype: DType,
  { min, max }: OpAttributes["Clip"],
): { readonly min: number | undefined; readonly max: number | undefined } {
  return { min: boundIn(dtype, min, Math.ceil), max: boundIn(dtype, max, Math.floor) };
}

/** A bound as the dtype holds it: of integers the next one inside, none where it lies outside all of them. */
function boundIn(dtype: DType, bound: number | undefined, inside: (x: number) => number): number | undefined {
  if (bound === undefined || isFloat(dtype)) return bound;
  const bits = 8 * bytesPerElement[dtype];
  const isSigned = dtype === "i32" || dtype === "i64";
  const low = isSigned ? -(2 ** (bits - 1)) : 0;
  const integer = inside(bound);
  return integer >= low && integer < low + 2 ** bits ? integer : undefined;
}

/** ONNX saturates casts to its f8 types unless told not to; we never do. */
export function castAttributes(to: DType): OnnxAttributes {
  const saturate = to === "f8e4m3" || to === "f8e5m2" ? { saturate: int(0) } : {};
  return { to: int(codeOfElementType(to)), ...saturate };
}
