import { type DType, GraphBuilder, type Op, zeros } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import type { NodeWriter } from "@mp/onnx/write";
import { expect, it } from "vitest";
import { lowerWithoutElements } from "./no-elements.js";

type Operands = readonly (readonly [shape: readonly number[], dtype?: DType])[];

const losses = (["mean", "sum", "none"] as const).flatMap((reduction): [Op, Operands, object][] => [
  ["SoftmaxCrossEntropyLoss", [[[0, 3]], [[0], "i32"]], { reduction }],
  ["NegativeLogLikelihoodLoss", [[[0, 3]], [[0], "i32"]], { reduction }],
]);
const nodes: readonly [Op, Operands, object][] = [
  ...losses,
  ["LayerNormalization", [[[2, 0]], [[0]], [[0]]], { axis: 1, epsilon: 1e-5 }],
  ["BatchNormalization", [[[0, 3, 2]], [[3]], [[3]]], { epsilon: 1e-5 }],
  ["MatMul", [[[2, 0]], [[0, 3]]], {}],
  ...(["Sum", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"] as const).map(
    (name): [Op, Operands, object] => [`Reduce${name}`, [[[2, 0, 3]]], { axes: [1], keepdims: false }],
  ),
  [
    "ConvWeightGradient",
    [[[0, 3, 4, 4]], [[0, 2, 4, 4]]],
    { kernelShape: [3, 3], strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 },
  ],
  ["TopK", [[[0, 3]]], { k: 2, axis: 1, largest: true }],
];

it.each(nodes.flatMap((node) => (["f32", "f16", "bf16"] as const).map((dtype) => [dtype, ...node] as const)))(
  "has the reference's results in %s: %s of %o with %o",
  (dtype, op, operands, attributes) => {
    const builder = new GraphBuilder();
    const inputs = operands.map(([shape, own = dtype]) => builder.constant(zeros(shape, own)));
    const results = builder.emit(op, inputs, attributes as never);
    const graph = builder.finish(new Map(results.map((value, index) => [String(index), value])));
    const made: unknown[] = [];
    const writer = { initializer: (value: unknown) => String(made.push(value)) } as unknown as NodeWriter;
    const node = graph.nodes.at(-1);
    if (node === undefined) throw new Error("a graph of one node");
    expect(lowerWithoutElements(node, writer)).toHaveLength(results.length);
    expect(made).toEqual(Object.values(evaluate(graph, {})));
  },
);

it("leaves labels without classes to the kernel, which refuses them", () => {
  const builder = new GraphBuilder();
  const inputs = [builder.constant(zeros([2, 0])), builder.constant(zeros([2], "i32"))];
  builder.emit("SoftmaxCrossEntropyLoss", inputs, { reduction: "mean" } as never);
  const node = builder.nodes.at(-1);
  if (node === undefined) throw new Error("a graph of one node");
  expect(lowerWithoutElements(node, {} as NodeWriter)).toBeUndefined();
});
