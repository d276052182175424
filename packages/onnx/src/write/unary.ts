import { bytesPerElement, type DType, isFloat, type OpAttributes } from "@mp/graph";
import { codeOfElementType } from "../element-type.js";
import { int, type OnnxAttributes } from "../model.js";
import { type Lowering, operandAt, typeAt } from "./lowering.js";

export const clip: Lowering<"Clip"> = (node, operands, writer) => {
  const { dtype } = typeAt(node, 0);
  const { min, max } = clipBounds(dtype, node.attributes);
  const bounds = [min, max].map((bound) => (bound === undefined ? "" : writer.scalar(bound, dtype)));
  const inputs = [operandAt(operands, 0), ...bounds];
  while (inputs.at(-1) === "") inputs.pop();
  return writer.emit("Clip", inputs);
};

/** The bounds of a Clip as values of its dtype: none where it bounds nothing. */
export function clipBounds(
  dtype: DType,
  { min, max }: OpAttributes["Clip"],
): { readonly min: number | undefined; readonly max: number | undefined } {
  return { min: clampBound(dtype, min, Math.ceil), max: clampBound(dtype, max, Math.floor) };
}

/** The bound in that dtype: for integers the next one inside, or undefined if all of them are inside. */
function clampBound(
  dtype: DType,
  bound: number | undefined,
  inside: (x: number) => number,
): number | undefined {
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
