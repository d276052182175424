/** Where ONNX Runtime's CPU kernels do not mean what the vocabulary says, or another form is faster. */
import { type AnyNode, isNode } from "@mp/core";
import { int, type LowerNode, type NodeWriter } from "@mp/onnx";

type Own = (
  node: AnyNode,
  operands: readonly string[],
  writer: NodeWriter,
  standard: (node: AnyNode, operands: readonly string[]) => readonly string[],
) => readonly string[] | undefined;

/** ORT's maxima and minima lose NaN: put it back where any element was one. */
const reduceKeepingNaN: Own = (node, operands, writer, standard) => {
  if (!(isNode(node, "ReduceMax") || isNode(node, "ReduceMin")) || node.inputs[0]?.dtype !== "f32")
    return undefined;
  const { axes, keepdims } = node.attributes;
  if (axes.length === 0) return undefined;
  const [x] = operands as readonly [string];
  const [extreme] = standard(node, operands) as readonly [string];
  const marked = writer.cast(writer.one("IsNaN", [x]), "f32");
  const count = writer.one("ReduceSum", [marked, writer.ints(axes)], { keepdims: int(keepdims ? 1 : 0) });
  const anyNaN = writer.one("Greater", [count, writer.scalar(0, "f32")]);
  return [writer.one("Where", [anyNaN, writer.scalar(Number.NaN, "f32"), extreme])];
};

/** ORT inlines ONNX's function, a dozen passes over the scores; the plain mean needs two. */
const crossEntropy: Own = (node, operands, writer) => {
  if (!isNode(node, "SoftmaxCrossEntropyLoss")) return undefined;
  const { reduction, ignoreIndex } = node.attributes;
  const [scores, labels] = operands as readonly [string, string];
  if (operands.length !== 2 || ignoreIndex !== undefined || node.inputs[0]?.shape.length !== 2)
    return undefined;
  const logProbabilities = writer.one("LogSoftmax", [scores], { axis: int(1) });
  const index = writer.one("Unsqueeze", [labels, writer.ints([1])]);
  const picked = writer.one("GatherElements", [logProbabilities, index], { axis: int(1) });
  const each = writer.one("Neg", [writer.one("Squeeze", [picked, writer.ints([1])])]);
  const reduce = { mean: "ReduceMean", sum: "ReduceSum", none: undefined }[reduction];
  const loss =
    reduce === undefined ? each : writer.one(reduce, [each, writer.ints([0])], { keepdims: int(0) });
  return [loss, logProbabilities];
};

/** The engine runs our order and shares nothing across it, so the barrier itself has nothing left to do. */
const barrier: Own = (node, operands) => (node.op === "Barrier" ? operands.slice(0, 1) : undefined);

const own: readonly Own[] = [barrier, reduceKeepingNaN, crossEntropy];

/** Lowers one node for ONNX Runtime. */
export const lowerNode: LowerNode = (node, operands, writer, standard) => {
  for (const lower of own) {
    const outputs = lower(node, operands, writer, standard);
    if (outputs !== undefined) return outputs;
  }
  return standard(node, operands);
};
