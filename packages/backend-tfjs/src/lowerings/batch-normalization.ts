import { type GraphNode, type OpOf, type Shape, sameShape, type ValueType } from "@mp/graph";
import { bool, float, string, type TfAttributes, type } from "../graph/attributes.js";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";
import { channelsLast, toChannelsFirst, toChannelsLast } from "./channels-last.js";
import { inF32 } from "./in-f32.js";
import { count, type Lowering, type LoweringTable, type Operands } from "./lowering.js";

/**
 * Three extra results of the engine's forward kernel, for its gradient kernel. Their contents depend on the
 * device, so nothing else can read them. They are valid only for this dtype and shape of x, and this epsilon.
 */
interface Reserve {
  readonly names: readonly string[];
  readonly variance: string;
  readonly type: ValueType;
  readonly epsilon: number;
}

/** The reserve of each forward kernel, by the name of the mean that the kernel returned. */
const reserves = new WeakMap<ScopeWriter, Map<string, Reserve>>();

/** The forward kernel's reserve for a gradient node; undefined if the statistics come from elsewhere. */
function findReserve(
  node: GraphNode<"BatchNormalizationGradient">,
  [, x, , mean, variance]: Operands,
  writer: ScopeWriter,
): readonly string[] | undefined {
  const reserve = reserves.get(writer)?.get(mean.name);
  const isOwn =
    reserve?.variance === variance.name &&
    reserve.epsilon === node.attributes.epsilon &&
    reserve.type.dtype === x.dtype &&
    sameShape(reserve.type.shape, x.shape);
  return isOwn ? reserve.names : undefined;
}

const kernelAttributes = (node: GraphNode<OpOf<"batch-normalization">>, x: Term): TfAttributes => ({
  T: type(x.dtype),
  U: type("f32"),
  epsilon: float(node.attributes.epsilon),
  data_format: string("NHWC"),
  is_training: bool(true),
});

/** The four axes [N, h, w, C] that the kernels require. */
function fourAxes(shape: Shape): Shape {
  const [batch = 1, ...rest] = channelsLast(shape);
  const channels = rest.at(-1) ?? 1;
  return rest.length === 3 ? [batch, ...rest] : [batch, count(rest.slice(0, -1)), 1, channels];
}

const intoKernel = (x: Term, writer: ScopeWriter): Term =>
  toChannelsLast(x, writer).reshape(fourAxes(x.shape));

function outOfKernel(y: string, { dtype, shape }: ValueType, writer: ScopeWriter): Term {
  const last = writer.at(y, { dtype, shape: fourAxes(shape) }).reshape(channelsLast(shape));
  return toChannelsFirst(last, shape, writer);
}

const perChannel = ({ shape }: Term): number => count(shape) / (shape[1] ?? 1);

/** Calls the engine's kernel, then rescales its variance, because the kernel divides by n - 1 and ONNX by n. */
const batchNormalization: Lowering<"BatchNormalization"> = (node, [x, scale, bias], writer) => {
  const image = intoKernel(x, writer);
  const parts = [scale.cast("f32"), bias.cast("f32")];
  const none = writer.constant({ dtype: "f32", shape: [0], data: new Float32Array(0) });
  const attributes = { ...kernelAttributes(node, x), exponential_avg_factor: float(1) };
  const results = writer.emit("FusedBatchNormV3", [image, ...parts, none, none], attributes, { outputs: 6 });
  const [y = "", mean = "", unbiased = "", ...names] = results;
  const vector = { dtype: "f32", shape: scale.shape } as const;
  const size = perChannel(x);
  const share = writer.scalar((size - 1) / size, "f32");
  const given = writer.at(unbiased, vector);
  const variance = size < 2 ? given : given.mul(share);
  const known = reserves.get(writer) ?? new Map<string, Reserve>();
  const { epsilon } = node.attributes;
  reserves.set(writer, known.set(mean, { names, variance: variance.name, type: x, epsilon }));
  return [outOfKernel(y, x, writer), writer.at(mean, vector), variance];
};

/** dx = scale · r · (dy - mean(dy) - (x - mean) · r² · mean(dy · (x - mean))), r = 1 / √(variance + ε). */
const inArithmetic: Lowering<"BatchNormalizationGradient"> = inF32(
  (node, [dy, x, scale, mean, variance], writer) => {
    const channels = x.shape[1] ?? 1;
    const each = (statistic: Term): Term => statistic.reshape([channels, ...x.shape.slice(2).map(() => 1)]);
    const axes = x.shape.flatMap((_, axis) => (axis === 1 ? [] : [axis]));
    // The results are sums, not means, because for an empty batch a sum is 0 and a mean is NaN.
    const size = writer.scalar(perChannel(x), "f32");
    const inverse = variance.add(node.attributes.epsilon).op("Rsqrt");
    const difference = x.sub(each(mean));
    const dbias = dy.reduce("Sum", axes, false);
    const dscale = dy.mul(difference).reduce("Sum", axes, false).mul(inverse);
    const tilt = difference.mul(each(dscale.div(size).mul(inverse)));
    const rest = dy.sub(each(dbias.div(size))).sub(tilt);
    return [rest.mul(each(inverse.mul(scale))), dscale, dbias];
  },
);

/** Uses the engine's gradient kernel if the program has the forward node, as every training step does. */
const batchNormalizationGradient: Lowering<"BatchNormalizationGradient"> = (node, operands, writer) => {
  const reserve = findReserve(node, operands, writer);
  if (reserve === undefined) return inArithmetic(node, operands, writer);
  const [dy, x, scale] = operands;
  const images = [intoKernel(dy, writer), intoKernel(x, writer)];
  const inputs = [...images, scale.cast("f32"), ...reserve];
  const attributes = kernelAttributes(node, dy);
  const [dx = "", dscale = "", dbias = ""] = writer.emit("FusedBatchNormGradV3", inputs, attributes, {
    outputs: 5,
  });
  const vector = { dtype: "f32", shape: scale.shape } as const;
  return [outOfKernel(dx, dy, writer), writer.at(dscale, vector), writer.at(dbias, vector)];
};

export const batchNormalizationLowerings: LoweringTable<OpOf<"batch-normalization">> = {
  BatchNormalization: batchNormalization,
  BatchNormalizationGradient: batchNormalizationGradient,
};
