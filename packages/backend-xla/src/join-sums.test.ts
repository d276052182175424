import { type Graph, GraphBuilder, tensor, type Value, zeros } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { joinSums } from "./join-sums.js";

/** The sum of a vector, of a matrix, of a row of zeros times another, of squares, and of a number. */
function sums(): Graph {
  const builder = new GraphBuilder();
  const input = (name: string, ...shape: readonly number[]): Value =>
    builder.input(name, { dtype: "f32", shape }, "batch");
  const all = (x: Value): Value =>
    builder.emitOne("ReduceSum", [x], { axes: x.shape.map((_, axis) => axis), keepdims: false });
  const squares = (x: Value): Value =>
    builder.emitOne("ReduceSumSquare", [x], { axes: x.shape.map((_, axis) => axis), keepdims: false });
  const row = builder.emitOne("Constant", [], { value: zeros([1, 3]) });
  const terms = [
    all(input("vector", 5)),
    input("number"),
    all(input("matrix", 2, 4)),
    squares(input("short", 2)),
    squares(input("wide", 2, 2)),
    all(builder.emitOne("MatMul", [row, input("checked", 3, 2)], {})),
  ];
  return builder.finish({ sum: terms.reduce((a, b) => builder.emitOne("Add", [a, b], {})) });
}

const numbers = (shape: readonly number[], ...values: readonly number[]) =>
  tensor(Float32Array.from(values), shape);

async function run(graph: Graph, checked: number): Promise<number | undefined> {
  const backend = await reference();
  const executable = await backend.compile(graph);
  const { sum } = await executable.run({
    vector: numbers([5], 1, 2, 3, 4, 5),
    number: numbers([], 100),
    matrix: numbers([2, 4], 1, 1, 1, 1, 2, 2, 2, 2),
    short: numbers([2], 10, -20),
    wide: numbers([2, 2], 0, 30, 40, 0),
    checked: numbers([3, 2], 1, checked, 1, 1, 1, 1),
  });
  await backend.dispose();
  return Number(sum?.data[0]);
}

describe("joinSums", () => {
  it("adds all elements at once, with the same sum", async () => {
    const joined = joinSums(sums());
    const numbers = joined.nodes.filter(
      ({ op, outputs }) => op.startsWith("Reduce") && outputs[0]?.shape.length === 0,
    );
    expect(numbers).toHaveLength(1);
    expect(joined.nodes.some(({ op }) => op === "MatMul")).toBe(false);
    expect(await run(joined, 7)).toBe(3127);
  });

  it("still finds what is not finite", async () => {
    for (const graph of [sums(), joinSums(sums())]) {
      expect(await run(graph, Number.POSITIVE_INFINITY)).toBeNaN();
    }
  });

  it("leaves a graph without such sums as it is", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
    const graph = builder.finish({ y: builder.emitOne("Add", [x, x], {}) });
    expect(joinSums(graph)).toBe(graph);
  });
});
