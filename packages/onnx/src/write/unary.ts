import { bytesPerElement, type DType, isEighth, isFloat, type OpAttributes } from "@mp/graph";
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

/** The bounds of a Clip in its dtype; undefined for a bound that has no effect. */
export function clipBounds(
  dtype: DType,
  { min, max }: OpAttributes["Clip"],
): { readonly min: number | undefined; readonly max: number | undefined } {
  return { min: clampBound(dtype, min, Math.ceil), max: clampBound(dtype, max, Math.floor) };
}

/** A bound in the dtype; for integers, the nearest one inside, or undefined if all integers are inside. */
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

/** The attributes of a Cast; casts to f8 saturate in ONNX by default, but never here. */
export function castAttributes(to: DType): OnnxAttributes {
  const saturate = isEighth(to) ? { saturate: int(0) } : {};
  return { to: int(codeOfElementType(to)), ...saturate };
}
