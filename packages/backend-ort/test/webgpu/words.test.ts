/** 64-bit integers in words on a device of WebGPU, also where a recorded run is replayed on other values. */
import { type Backend, type HostTensor, tensor } from "@mp/core";
import { type Graph, GraphBuilder } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ort } from "../../src/index.js";

let backend: Backend;
beforeAll(async () => {
  backend = await ort({ device: "webgpu" });
});
afterAll(() => backend.dispose());

type Feeds = Readonly<Record<string, HostTensor>>;

async function expectOracle(graph: Graph, runs: readonly Feeds[]): Promise<void> {
  const executable = await backend.compile(graph);
  for (const feeds of runs) expect(await executable.run(feeds)).toEqual(evaluate(graph, feeds));
  await executable.dispose();
}

// With several rows of elements, and with a count that is prime.
it.each([[[3]], [[31, 1000]], [[2, 1031]]] as const)(
  "draws the random bits of shape %j of every counter",
  async (shape) => {
    const builder = new GraphBuilder();
    const counter = builder.input("counter", { dtype: "u64", shape: [] }, "batch");
    const bits = builder.emitOne("RandomBits", [counter], { key: 0xd1342543de82ef95n, shape });
    const counters = [0n, 2n ** 32n - 1n, 7n * 2n ** 32n, 2n ** 63n + 5n, 2n ** 64n - 1n];
    const runs = counters.map((value) => ({ counter: tensor(BigUint64Array.of(value), [], "u64") }));
    await expectOracle(builder.finish({ bits }), runs);
  },
);

it("adds, compares, casts and reduces i64", async () => {
  const builder = new GraphBuilder();
  const [x, y] = [
    builder.input("x", { dtype: "i64", shape: [6] }, "batch"),
    builder.input("y", { dtype: "i64", shape: [6] }, "batch"),
  ];
  const sum = builder.emitOne("Add", [x, y], {});
  const graph = builder.finish({
    sum,
    product: builder.emitOne("Mul", [x, y], {}),
    quotient: builder.emitOne("Div", [x, y], {}),
    isLess: builder.emitOne("Less", [x, y], {}),
    float: builder.emitOne("Cast", [sum], { to: "f32" }),
    total: builder.emitOne("ReduceSum", [x], { axes: [0], keepdims: false }),
  });
  const numbers = [
    2n ** 63n - 1n,
    -(2n ** 63n),
    2n ** 32n,
    -1n,
    2n ** 24n + 1n,
    1n,
    -(2n ** 40n) - 7n,
    12_345n,
  ];
  const feed = (from: number): HostTensor =>
    tensor(BigInt64Array.from({ length: 6 }, (_, index) => numbers[(from + index) % numbers.length] ?? 0n));
  await expectOracle(
    graph,
    [0, 2, 5].map((from) => ({ x: feed(from), y: feed(from + 3) })),
  );
});
