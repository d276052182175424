import { floatFormats, type GraphNode, type PoolingWindow, type Shape } from "@mp/core";
import { tapCounts, withoutCeiling } from "@mp/core/backend";
import { float, int, type NodeWriter, windowAttributes } from "@mp/onnx";
import { at, type OwnLowering, operandType } from "./own-lowering.js";

const spatialOf = (node: GraphNode): Shape => operandType(node).shape.slice(2);

/** The mean over each window, zeros of the padding among its elements. */
function wholeMean(x: string, window: PoolingWindow, writer: NodeWriter): string {
  return writer.one("AveragePool", [x], { ...windowAttributes(window), count_include_pad: int(1) });
}

/** Above half the lowest finite number by more than rounding: half of x and this is 0 or less of -infinity alone. */
const ABOVE_HALF = 2 ** floatFormats.f32.maxExponent;

/** x / 2 + 2^127: as a normalisation by given statistics it is one pass. */
function aboveZero(node: GraphNode, x: string, writer: NodeWriter): string {
  const channels = operandType(node).shape[1] ?? 1;
  const [half, offset, zero, one] = [0.5, ABOVE_HALF, 0, 1].map((value) =>
    writer.list(new Array<number>(channels).fill(value), "f32"),
  ) as [string, string, string, string];
  return writer.one("BatchNormalization", [x, half, offset, zero, one], { epsilon: float(0) });
}

/**
 * The engine's maximum lets NaN go, and begins at the lowest finite number, which some of its kernels take for a window
 * of negative infinities. A mean of what is 0 for these and above 0 for all else tells both: NaN where there was one, 0
 * where there was nothing else.
 */
export const maxPool: OwnLowering<"MaxPool"> = (node, operands, writer) => {
  const x = at(operands, 0);
  const window = withoutCeiling(spatialOf(node), node.attributes);
  const most = writer.one("MaxPool", [x], windowAttributes(window));
  const mean = wholeMean(writer.one("Relu", [aboveZero(node, x, writer)]), window, writer);
  const isNothing = writer.one("Equal", [mean, writer.scalar(0, "f32")]);
  const known = writer.one("Where", [isNothing, writer.scalar(Number.NEGATIVE_INFINITY, "f32"), most]);
  return [writer.one("Where", [writer.one("IsNaN", [mean]), mean, known])];
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
