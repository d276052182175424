import { type GraphNode, type OpOf, type PoolingWindow, withoutCeiling } from "@mp/graph";
import { int, type OnnxAttributes, string } from "../model.js";
import { OWN_DOMAIN } from "../own-domain.js";
import { type Lowering, type LoweringTable, operandAt, typeAt } from "./lowering.js";
import { onnxAttributes, plain } from "./plain.js";
import { product } from "./product.js";

const WINDOW = ["kernelShape", "strides", "pads", "dilations", "ceilMode"] as const;

/** A pooling window as attributes of ONNX's pooling ops. */
export const windowAttributes = (attributes: PoolingWindow): OnnxAttributes =>
  onnxAttributes({ attributes }, ...WINDOW);

/** Adds dy, in f32, at the positions of the maxima, since MaxPool's indices refer to the flattened tensor. */
const decomposeGradient: Lowering<"MaxPoolGradient"> = (node, operands, writer) => {
  const wide = (index: number): string => {
    const name = operandAt(operands, index);
    return typeAt(node, index).dtype === "f32" ? name : writer.cast(name, "f32");
  };
  const { dtype, shape } = typeAt(node, 1);
  // Engines differ in the shapes that they compute in ceil mode.
  const window = withoutCeiling(shape.slice(2), node.attributes);
  const [, indices = ""] = writer.emit("MaxPool", [wide(1)], windowAttributes(window), { outputs: 2 });
  const flat = (name: string): string => writer.one("Reshape", [name, writer.ints([-1])]);
  const zeros = writer.one("Expand", [writer.scalar(0, "f32"), writer.ints([product(shape)])]);
  const sums = writer.one("ScatterElements", [zeros, flat(indices), flat(wide(0))], {
    axis: int(0),
    reduction: string("add"),
  });
  const dx = writer.one("Reshape", [sums, writer.ints(shape)]);
  return [dtype === "f32" ? dx : writer.cast(dx, dtype)];
};

export const averagePoolAttributes = (node: GraphNode<"AveragePool">): OnnxAttributes =>
  onnxAttributes(node, ...WINDOW, "countIncludePad");

export const poolingLowerings: LoweringTable<OpOf<"pooling">> = {
  MaxPool: plain([...WINDOW]),
  AveragePool: plain([], averagePoolAttributes),
  MaxPoolGradient: (node, operands, writer) =>
    writer.keepsOwnOps
      ? writer.emit("MaxPoolGradient", operands, windowAttributes(node.attributes), { domain: OWN_DOMAIN })
      : decomposeGradient(node, operands, writer),
};
