import { isEighth } from "@mp/graph";
import { int } from "@mp/onnx/write";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";
import { transposeUnswapped, type Unswapped } from "./transposed-products.js";

/** Writes Squeeze and Unsqueeze of f8 as Reshape, because the engine has no f8 kernels for these two. */
const reshapeEighth: OwnLowering<"Squeeze" | "Unsqueeze"> = (node, operands, writer) => {
  if (!isEighth(operandType(node).dtype)) return undefined;
  const shape = node.outputs[0]?.shape ?? [];
  const attributes = shape.includes(0) ? { allowzero: int(1) } : undefined;
  return [writer.one("Reshape", [at(operands, 0), writer.ints(shape)], attributes)];
};

/** Passes scalars through, because the engine cannot pad them. Pads f8 as f16, which holds all f8 values. */
const pad: OwnLowering<"Pad"> = (node, operands, writer, standard) => {
  const { dtype, shape } = operandType(node);
  if (shape.length === 0) return [writer.one("Identity", [at(operands, 0)])];
  if (!isEighth(dtype)) return undefined;
  return [writer.cast(at(standard([writer.cast(at(operands, 0), "f16")], "f16"), 0), dtype)];
};

export const movementLowerings = (unswapped: Unswapped): OwnLoweringsOf<"movement"> => ({
  Transpose: transposeUnswapped(unswapped),
  Squeeze: reshapeEighth,
  Unsqueeze: reshapeEighth,
  Pad: pad,
});
