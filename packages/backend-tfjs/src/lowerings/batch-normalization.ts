import type { Shape } from "@mp/core";
import { type GraphNode, sameShape, type ValueType } from "@mp/core/graph";
import {
  bool,
  float,
  type Lowering,
  type LoweringTable,
  string,
  type TfAttributes,
  type TfWriter,
  type,
} from "../graph/tf-writer.js";
import { channelsLast, toChannelsFirst, toChannelsLast } from "./channels-last.js";
import { emitReduce, emitT, operandAt, reshape, sizeOf, typeAt } from "./lowering.js";
import { inF32 } from "./twins.js";

type BatchNormalization = "BatchNormalization" | "BatchNormalizationGradient";

/**
 * Three results of the engine's kernel that only its own gradient kernel can read, since their contents depend on the
 * device. They are valid for one dtype and shape of x, and one epsilon.
 */
interface Reserve {
  readonly names: readonly string[];
  readonly variance: string;
  readonly type: ValueType;
  readonly epsilon: number;
}

/** By the name of the mean that the same kernel returned. */
const reserves = new WeakMap<TfWriter, Map<string, Reserve>>();

function noteReserve(mean: string, reserve: Reserve, writer: TfWriter): void {
  const byMean = reserves.get(writer) ?? new Map<string, Reserve>();
  reserves.set(writer, byMean.set(mean, reserve));
}

/** The reserve of the forward node whose gradient this is, if the statistics are that node's. */
function reserveFor(
  node: GraphNode<"BatchNormalizationGradient">,
  operands: readonly string[],
  writer: TfWriter,
): readonly string[] | undefined {
  const reserve = reserves.get(writer)?.get(operandAt(operands, 3));
  const { dtype, shape } = typeAt(node, 1);
  const isOwn =
    reserve?.variance === operandAt(operands, 4) &&
    reserve.epsilon === node.attributes.epsilon &&
    reserve.type.dtype === dtype &&
    sameShape(reserve.type.shape, shape);
  return isOwn ? reserve.names : undefined;
}

const attributesOf = (node: GraphNode<BatchNormalization>): TfAttributes => ({
  T: type(typeAt(node, 0).dtype),
  U: type("f32"),
  epsilon: float(node.attributes.epsilon),
  data_format: string("NHWC"),
  is_training: bool(true),
});

/** The kernels take four axes. */
function fourAxes(shape: Shape): Shape {
  const [batch = 1, ...rest] = channelsLast(shape);
  const channels = rest.at(-1) ?? 1;
  return rest.length === 3 ? [batch, ...rest] : [batch, sizeOf(rest.slice(0, -1)), 1, channels];
}

function intoKernel(node: GraphNode<BatchNormalization>, x: string, writer: TfWriter): string {
  const { dtype, shape } = typeAt(node, 0);
  const last = toChannelsLast(x, { dtype, shape }, writer);
  return reshape(last, dtype, channelsLast(shape), fourAxes(shape), writer);
}

function outOfKernel(node: GraphNode<BatchNormalization>, y: string, writer: TfWriter): string {
  const { dtype, shape } = typeAt(node, 0);
  const last = reshape(y, dtype, fourAxes(shape), channelsLast(shape), writer);
  return toChannelsFirst(last, { dtype, shape }, writer);
}

function parameter(node: GraphNode, operands: readonly string[], index: number, writer: TfWriter): string {
  return writer.cast(operandAt(operands, index), typeAt(node, index).dtype, "f32");
}

const channelsOf = (node: GraphNode): number => typeAt(node, 0).shape[1] ?? 1;
const countOf = (node: GraphNode): number => sizeOf(typeAt(node, 0).shape) / channelsOf(node);

/** The kernel divides by n - 1 where ONNX divides by n. */
const batchNormalization: Lowering<"BatchNormalization"> = (node, operands, writer) => {
  const x = intoKernel(node, operandAt(operands, 0), writer);
  const parts = [1, 2].map((index) => parameter(node, operands, index, writer));
  const none = emptyVector(writer);
  const attributes = { ...attributesOf(node), exponential_avg_factor: float(1) };
  const results = writer.emit("FusedBatchNormV3", [x, ...parts, none, none], attributes, { outputs: 6 });
  const [y = "", mean = "", unbiased = "", ...reserve] = results;
  const count = countOf(node);
  const share = writer.scalar((count - 1) / count, "f32");
  const variance = count < 2 ? unbiased : emitT("Mul", [unbiased, share], "f32", writer);
  noteReserve(
    mean,
    { names: reserve, variance, type: typeAt(node, 0), epsilon: node.attributes.epsilon },
    writer,
  );
  return [outOfKernel(node, y, writer), mean, variance];
};

function emptyVector(writer: TfWriter): string {
  return writer.constant({ dtype: "f32", shape: [0], data: new Float32Array(0) });
}

/** dx = scale · r · (dy - mean(dy) - (x - mean) · r² · mean(dy · (x - mean))), r = 1 / √(variance + ε). */
const inArithmetic: Lowering<"BatchNormalizationGradient"> = inF32((node, operands, writer) => {
  const [dy, x, scale, mean, variance] = [0, 1, 2, 3, 4].map((index) => operandAt(operands, index)) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const { shape } = typeAt(node, 0);
  const two = (op: "AddV2" | "Sub" | "Mul", a: string, b: string): string => emitT(op, [a, b], "f32", writer);
  const each = (statistic: string): string =>
    reshape(statistic, "f32", [channelsOf(node)], [channelsOf(node), ...shape.slice(2).map(() => 1)], writer);
  const axes = shape.flatMap((_, axis) => (axis === 1 ? [] : [axis]));
  const sumOf = (value: string): string =>
    emitReduce("Sum", value, { dtype: "f32", shape }, axes, false, writer);
  // The results are sums, not means: for an empty batch a sum is 0 and a mean is NaN.
  const count = writer.scalar(countOf(node), "f32");
  const meanOf = (sum: string): string => emitT("RealDiv", [sum, count], "f32", writer);
  const shifted = two("AddV2", variance, writer.scalar(node.attributes.epsilon, "f32"));
  const inverse = emitT("Rsqrt", [shifted], "f32", writer);
  const difference = two("Sub", x, each(mean));
  const dbias = sumOf(dy);
  const dscale = two("Mul", sumOf(two("Mul", dy, difference)), inverse);
  const tilt = two("Mul", difference, each(two("Mul", meanOf(dscale), inverse)));
  const rest = two("Sub", two("Sub", dy, each(meanOf(dbias))), tilt);
  return [two("Mul", rest, each(two("Mul", inverse, scale))), dscale, dbias];
});

/** The kernel, where its forward counterpart is in the same program, as in every training step. */
const batchNormalizationGradient: Lowering<"BatchNormalizationGradient"> = (node, operands, writer) => {
  const reserve = reserveFor(node, operands, writer);
  if (reserve === undefined) return inArithmetic(node, operands, writer);
  const [dy, x] = [0, 1].map((index) => intoKernel(node, operandAt(operands, index), writer)) as [
    string,
    string,
  ];
  const results = writer.emit(
    "FusedBatchNormGradV3",
    [dy, x, parameter(node, operands, 2, writer), ...reserve],
    attributesOf(node),
    { outputs: 5 },
  );
  const [dx = "", dscale = "", dbias = ""] = results;
  return [outOfKernel(node, dx, writer), dscale, dbias];
};

export const batchNormalizationLowerings: LoweringTable<BatchNormalization> = {
  BatchNormalization: batchNormalization,
  BatchNormalizationGradient: batchNormalizationGradient,
};
