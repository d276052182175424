import { type DType, isEighth, type Op } from "@mp/graph";
import { type Lowering, typeAt } from "./lowering.js";

/** Casts f8 values to f16 and back, because few ONNX ops can move f8, and f16 holds all of its values. */
export function throughF16<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return (node, operands, writer) => {
    const [result] = node.outputs;
    if (result === undefined || !isEighth(result.dtype)) return lowering(node, operands, writer);
    const wide = operands.map((name, index) =>
      isEighth(typeAt(node, index).dtype) ? writer.cast(name, "f16") : name,
    );
    const as16 = <V extends { readonly dtype: DType }>(value: V): V =>
      isEighth(value.dtype) ? { ...value, dtype: "f16" } : value;
    const narrow = { ...node, inputs: node.inputs.map(as16), outputs: node.outputs.map(as16) };
    return lowering(narrow, wide, writer).map((name) => writer.cast(name, result.dtype));
  };
}
