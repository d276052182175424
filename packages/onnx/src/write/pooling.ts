import { type GraphNode, type OpOf, type PoolingWindow, withoutCeiling } from "@mp/core/graph";
import { int, ints, type OnnxAttributes } from "../model.js";
import { OWN_DOMAIN } from "../own-domain.js";
import { type Lowering, type LoweringTable, operandAt, typeAt } from "./lowering.js";

/** A window as ONNX's pools take it. */
export function windowAttributes({
  kernelShape,
  strides,
  pads,
  dilations,
  ceilMode,
}: PoolingWindow): OnnxAttributes {
  return {
    kernel_shape: ints(kernelShape),
    strides: ints(strides),
    pads: ints(pads),
    dilations: ints(dilations),
    ceil_mode: int(ceilMode ? 1 : 0),
  };
}

const product = (sizes: readonly number[]): number => sizes.reduce((result, size) => result * size, 1);

/** MaxPool's indices count through the whole tensor, and there dy is added, in f32. */
const decomposeGradient: Lowering<"MaxPoolGradient"> = (node, operands, writer) => {
  const wide = (index: number): string => {
    const name = operandAt(operands, index);
    return typeAt(node, index).dtype === "f32" ? name : writer.cast(name, "f32");
  };
  const { dtype, shape } = typeAt(node, 1);
  // Engines take the ceiling for their shapes in ways of their own.
  const window = withoutCeiling(shape.slice(2), node.attributes);
  const [, indices = ""] = writer.emit("MaxPool", [wide(1)], windowAttributes(window), { outputs: 2 });
  const flat = (name: string): string => writer.one("Reshape", [name, writer.ints([-1])]);
  const zeros = writer.one("Expand", [writer.scalar(0, "f32"), writer.ints([product(shape)])]);
  const sums = writer.one("ScatterElements", [zeros, flat(indices), flat(wide(0))], {
    axis: int(0),
    reduction: { kind: "string", value: "add" },
  });
  const dx = writer.one("Reshape", [sums, writer.ints(shape)]);
  return [dtype === "f32" ? dx : writer.cast(dx, dtype)];
};

const pool = (node: GraphNode<"MaxPool" | "AveragePool">): OnnxAttributes =>
  windowAttributes(node.attributes);

export function averagePoolAttributes(node: GraphNode<"AveragePool">): OnnxAttributes {
  return { ...pool(node), count_include_pad: int(node.attributes.countIncludePad ? 1 : 0) };
}

export const poolingLowerings: LoweringTable<OpOf<"pooling">> = {
  MaxPool: (node, operands, writer) => writer.emit("MaxPool", operands, pool(node)),
  AveragePool: (node, operands, writer) => writer.emit("AveragePool", operands, averagePoolAttributes(node)),
  MaxPoolGradient: (node, operands, writer) =>
    writer.keepsOwnOps
      ? writer.emit("MaxPoolGradient", operands, windowAttributes(node.attributes), { domain: OWN_DOMAIN })
      : decomposeGradient(node, operands, writer),
};
