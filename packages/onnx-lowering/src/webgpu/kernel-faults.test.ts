/** Nodes that the provider's kernels get wrong are never written, whatever the shapes. */
import { GraphBuilder, type Op, type OpAttributes, type Shape } from "@mp/graph";
import { decodeModel, type OnnxNode } from "@mp/onnx";
import { describe, expect, it } from "vitest";
import { lowerGraph } from "../lower.js";

const TARGET = {
  device: "webgpu",
  emulated: [],
  widened: new Set<string>(),
  blockSize: undefined,
  castsThroughDoubles: false,
} as const;

/** The ONNX nodes written for one node. */
function written<K extends Op>(
  op: K,
  dtype: "f32" | "bool",
  shapes: readonly Shape[],
  attributes: OpAttributes[K],
): readonly OnnxNode[] {
  const builder = new GraphBuilder();
  const operands = shapes.map((shape, index) => builder.input(`x${index}`, { dtype, shape }, "batch"));
  const graph = builder.finish({ z: builder.emitOne(op, operands as never, attributes) });
  return decodeModel(lowerGraph(graph, TARGET).model).graph.nodes;
}

const named = (nodes: readonly OnnxNode[], op: string): readonly OnnxNode[] =>
  nodes.filter(({ opType }) => opType === op);

const SIDES = [1, 2, 4];
const SHAPES: readonly Shape[] = [[], ...SIDES.map((side) => [side]), ...SIDES.map((side) => [4, side])];
const PAIRS = SHAPES.flatMap((a) => SHAPES.map((b): readonly [Shape, Shape] => [a, b])).filter(
  ([a, b]) => [a.at(-1) ?? 1, b.at(-1) ?? 1].includes(1) || a.at(-1) === b.at(-1),
);

describe("of two bools", () => {
  it.each(["And", "Or", "Xor", "Equal"] as const)("%s reads operands of two shapes as numbers", (op) => {
    for (const [a, b] of PAIRS) {
      const isPlain = String(a) === String(b) || a.length === 0 || b.length === 0;
      const ands = named(written(op, "bool", [a, b], {}), "And");
      expect([a, b, ands.length > 0]).toEqual([a, b, isPlain]);
    }
  });
});

describe("Gemm", () => {
  const attributes = { transA: false, transB: false, alpha: 1, beta: 1 };
  it.each([[[]], [[1]], [[3]], [[64, 1]]] as readonly [Shape][])(
    "takes C of the shape %o with a rank",
    (c) => {
      const shapes = [[64, 2], [2, 3], c];
      const [gemm] = named(written("Gemm", "f32", shapes, attributes), "Gemm");
      expect(gemm?.inputs[2] === "x2").toBe(c.length > 0);
    },
  );
});

describe("Conv by a kernel of one element", () => {
  const counts = [0, 1, 2];
  it.each(counts.flatMap((before) => counts.map((after) => [before, after] as const)))(
    "has no pads that are at the end only: %i before, %i after",
    (before, after) => {
      const pads = [before, 0, 0, after];
      const attributes = { strides: [1, 1], pads, dilations: [1, 1], group: 1 };
      const shapes = [
        [1, 2, 5, 5],
        [2, 2, 1, 1],
      ];
      const nodes = written("Conv", "f32", shapes, attributes);
      const isMoved = before === 0 && after > 0;
      const zeros = pads.map(() => 0n);
      expect(named(nodes, "Conv").map((node) => node.attributes["pads"])).toEqual([
        { kind: "ints", value: isMoved ? zeros : pads.map(BigInt) },
      ]);
      expect(named(nodes, "Pad")).toHaveLength(isMoved ? 1 : 0);
    },
  );
});

describe("Pow", () => {
  it.each([[[]], [[1]], [[1, 1]], [[4, 1]], [[4, 4]]] as readonly [Shape][])(
    "expands a base of the shape %o unless it is a scalar or as long",
    (base) => {
      const isWhole = base.length < 2 || base.at(-1) === 4;
      const expanded = named(written("Pow", "f32", [base, [4, 4]], {}), "Expand");
      expect(expanded).toHaveLength(isWhole ? 0 : 1);
    },
  );
});
