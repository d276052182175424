import type { GraphNode, PoolingWindow, Shape } from "@mp/core";
import { tapCounts, withoutCeiling } from "@mp/core/backend";
import { int, type NodeWriter, windowAttributes } from "@mp/onnx";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

const spatialOf = (node: GraphNode): Shape => operandType(node).shape.slice(2);

/** The mean over each window, zeros of the padding among its elements. */
function wholeMean(x: string, window: PoolingWindow, writer: NodeWriter): string {
  return writer.one("AveragePool", [x], { ...windowAttributes(window), count_include_pad: int(1) });
}

/** The engine's maximum lets NaN go; a mean of what has no negative infinities is NaN where there was one, and only there. */
export const maxPool: OwnLowering<"MaxPool"> = (node, operands, writer) => {
  const x = at(operands, 0);
  const window = withoutCeiling(spatialOf(node), node.attributes);
  const most = writer.one("MaxPool", [x], windowAttributes(window));
  const mean = wholeMean(writer.one("Relu", [x]), window, writer);
  return [writer.one("Where", [writer.one("IsNaN", [mean]), mean, most])];
};

/** What a ceiling adds to the padding is summed as zeros, and does not count. */
export const averagePool: OwnLowering<"AveragePool"> = (node, operands, writer) => {
  const { countIncludePad, ...attributes } = node.attributes;
  const x = at(operands, 0);
  const window = withoutCeiling(spatialOf(node), attributes);
  if (!countIncludePad) {
    return [writer.one("AveragePool", [x], { ...windowAttributes(window), count_include_pad: int(0) })];
  }
  const mean = wholeMean(x, window, writer);
  const counts = tapCounts(spatialOf(node), node.attributes);
  return [
    counts.reduce((result, axis, index) => {
      const size = window.kernelShape[index] ?? 1;
      if (axis.every((count) => count === size)) return result;
      const shares = writer.list(
        axis.map((count) => size / count),
        "f32",
      );
      const column = writer.ints([axis.length, ...counts.slice(index + 1).map(() => 1)]);
      return writer.one("Mul", [result, writer.one("Reshape", [shares, column])]);
    }, mean),
  ];
};
