import type { GraphNode, OpOf, SoftmaxOp } from "@mp/graph";
import type { Term } from "../graph/term.js";
import type { Lowering, LoweringTable } from "./lowering.js";
import { inF32 } from "./twins.js";

/** Normalizes along any axis. The engine's ops take only the last one; others cost a pass, but no transposition. */
const alongAxis = (normalize: (x: Term, axis: number) => Term): Lowering<SoftmaxOp> =>
  inF32((node, [x]) => [normalize(x, node.attributes.axis)]);

function softmax(x: Term, axis: number): Term {
  if (axis === x.shape.length - 1) return withNaN(x.op("Softmax"), x);
  const { exponentials, sum } = shift(x, axis);
  return exponentials.div(sum);
}

/** Makes rows with a NaN all NaN: the engine's softmax does not propagate it, but a maximum does. */
function withNaN(y: Term, x: Term): Term {
  return y.add(x.reduce("Max", [x.shape.length - 1], true).mul(0));
}

/** The log softmax of an f32 tensor. */
export function logSoftmax(x: Term, axis: number): Term {
  if (axis === x.shape.length - 1) return x.op("LogSoftmax");
  const { difference, sum } = shift(x, axis);
  return difference.sub(sum.op("Log"));
}

/** x - max(x), so that no exponential overflows, and the rest of the computation. */
function shift(x: Term, axis: number) {
  const difference = x.sub(x.reduce("Max", [axis], true));
  const exponentials = difference.op("Exp");
  return { difference, exponentials, sum: exponentials.reduce("Sum", [axis], true) };
}

type Normalization = GraphNode<"LayerNormalization" | "RMSNormalization">;

/** The mean over the normalized axes, which keep size 1. */
function rowMean(node: Normalization, x: Term): Term {
  const axes = x.shape.map((_, axis) => axis).slice(node.attributes.axis);
  return x.reduce("Mean", axes, true);
}

/** 1 / √(mean of squares + ε). */
function inverseRoot(node: Normalization, x: Term): Term {
  const mean = rowMean(node, x.op("Square"));
  const epsilon = x.writer.scalar(node.attributes.epsilon, "f32");
  return mean.add(epsilon).op("Rsqrt");
}

/** Computes the variance from squared deviations, not as a difference of squares. */
const layerNormalization: Lowering<"LayerNormalization"> = (node, operands) => {
  const [x, scale, bias] = operands;
  const mean = rowMean(node, x);
  const difference = x.sub(mean);
  const inverse = inverseRoot(node, difference);
  const y = difference.mul(inverse).mul(scale);
  return [operands.length < 3 ? y : y.add(bias), mean, inverse];
};

const rmsNormalization: Lowering<"RMSNormalization"> = (node, [x, scale]) => [
  x.mul(inverseRoot(node, x)).mul(scale),
];

export const normalizationLowerings: LoweringTable<OpOf<"normalization">> = {
  Softmax: alongAxis(softmax),
  LogSoftmax: alongAxis(logSoftmax),
  LayerNormalization: inF32(layerNormalization),
  RMSNormalization: inF32(rmsNormalization),
};
