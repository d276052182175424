import type { Shape } from "@mp/core";
import { GraphBuilder } from "@mp/core/graph";
import { decodeModel } from "@mp/onnx";
import { describe, expect, it } from "vitest";
import { lowerGraph } from "../lower.js";
import { commonShape } from "./known-types.js";

const TARGET = {
  device: "webgpu",
  emulated: [],
  widened: new Set<string>(),
  blockSize: undefined,
  castsThroughDoubles: false,
} as const;

/** What is written of `op` of two bools, as ONNX's operators. */
function written(op: "And" | "Or" | "Xor" | "Equal", shapes: readonly [Shape, Shape]): readonly string[] {
  const builder = new GraphBuilder();
  const operands = shapes.map((shape, index) =>
    builder.input(`x${index}`, { dtype: "bool", shape }, "batch"),
  );
  const graph = builder.finish({ z: builder.emitOne(op, operands as [never, never], {}) });
  return decodeModel(lowerGraph(graph, TARGET).model).graph.nodes.map(({ opType }) => opType);
}

const SIDES = [1, 2, 4];
const SHAPES: readonly Shape[] = [[], ...SIDES.map((side) => [side]), ...SIDES.map((side) => [4, side])];
const PAIRS = SHAPES.flatMap((a) => SHAPES.map((b): readonly [Shape, Shape] => [a, b])).filter(
  ([a, b]) => [a.at(-1) ?? 1, b.at(-1) ?? 1].includes(1) || a.at(-1) === b.at(-1),
);

describe("broadcasts of bools", () => {
  it.each(["And", "Or", "Xor", "Equal"] as const)("%s reads operands of two shapes as numbers", (op) => {
    for (const [a, b] of PAIRS) {
      const isPlain = String(a) === String(b) || a.length === 0 || b.length === 0;
      expect([a, b, written(op, [a, b]).includes("And")]).toEqual([a, b, isPlain]);
    }
  });
});

describe("commonShape", () => {
  it("is the shape of all, beside scalars", () => {
    expect(commonShape([])).toEqual([]);
    expect(commonShape([[], [2, 3], [], [2, 3]])).toEqual([2, 3]);
  });

  it("is unknown where one is, or where they differ", () => {
    expect(commonShape([[2], undefined])).toBeUndefined();
    expect(commonShape([[2], [1]])).toBeUndefined();
    expect(commonShape([[2], [1], [2]])).toBeUndefined();
  });
});
