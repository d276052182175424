import type { GraphNode, OpOf, SoftmaxOp } from "@mp/graph";
import type { Term } from "../graph/term.js";
import { inF32 } from "./in-f32.js";
import { count, type Lowering, type LoweringTable } from "./lowering.js";

/** Lowers a softmax along any axis: along the last axis by the engine's op, along other axes by several ops. */
const alongAxis = (normalize: (x: Term, axis: number) => Term): Lowering<SoftmaxOp> =>
  inF32((node, [x]) => [normalize(x, node.attributes.axis)]);

function softmax(x: Term, axis: number): Term {
  if (axis === x.shape.length - 1) return alongRows(x, (rows) => withNaN(rows.op("Softmax"), rows));
  const { exponentials, sum } = shift(x, axis);
  return exponentials.div(sum);
}

/** Makes rows of y NaN where x has a NaN, because the engine's softmax does not propagate NaN. A maximum does. */
function withNaN(y: Term, x: Term): Term {
  return y.add(x.reduce("Max", [x.shape.length - 1], true).mul(0));
}

/** Applies an op to the rows of x. The engine's softmax takes at most five axes; further axes are merged to rows. */
function alongRows(x: Term, normalize: (rows: Term) => Term): Term {
  const columns = x.shape.at(-1) ?? 1;
  return x.shape.length < 6
    ? normalize(x)
    : normalize(x.reshape([count(x.shape.slice(0, -1)), columns])).reshape(x.shape);
}

/** The log softmax of an f32 tensor. */
export function logSoftmax(x: Term, axis: number): Term {
  if (axis === x.shape.length - 1) return alongRows(x, (rows) => rows.op("LogSoftmax"));
  const { difference, sum } = shift(x, axis);
  return difference.sub(sum.op("Log"));
}

/** x - max(x), so that no exponential overflows, and the exponentials of this difference and their sum. */
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

/** 1 / √(mean of x² over the normalized axes + ε). */
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
