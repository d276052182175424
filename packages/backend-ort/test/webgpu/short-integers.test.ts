/** Integers on a device of WebGPU, which holds i64 as i32, also where a recorded run is replayed on other values. */
import { type Backend, type Graph, GraphBuilder, type HostTensor, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
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
  "draws the random bits of shape %j after every count",
  async (shape) => {
    const builder = new GraphBuilder();
    const drawn = builder.input("drawn", { dtype: "i32", shape: [] }, "batch");
    const bits = builder.emitOne("RandomBits", [drawn], { key: 0xd1342543de82ef95n, shape });
    const runs = [0, 7, 2 ** 16, 2 ** 31 - 1, -1].map((count) => ({
      drawn: tensor(Int32Array.of(count), []),
    }));
    await expectOracle(builder.finish({ bits }), runs);
  },
);

/** Rows of a table by i64. */
function gathering(): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [4, 2] }, "batch");
  const at = builder.input("at", { dtype: "i64", shape: [3] }, "batch");
  const one = builder.emitOne("Constant", [], { value: tensor(BigInt64Array.of(1n), []) });
  const next = builder.emitOne("Add", [at, one], {});
  const places = builder.emitOne("Cast", [next], { to: "i32" });
  return builder.finish({ next, rows: builder.emitOne("Gather", [x, places], { axis: 0 }) });
}

it("computes with i64 inside i32", async () => {
  const feed = (...at: bigint[]): Feeds => ({
    x: tensor(
      Float32Array.from({ length: 8 }, (_, index) => index),
      [4, 2],
    ),
    at: tensor(BigInt64Array.from(at)),
  });
  await expectOracle(gathering(), [feed(0n, 1n, 2n), feed(2n, -1n, 0n)]);
});

it("refuses i64 beyond i32, fed or constant", async () => {
  const beyond = {
    code: "MP_OUT_OF_RANGE",
    message: expect.stringContaining("got 2147483648 at element 1") as string,
  };
  const executable = await backend.compile(gathering());
  const fed = executable.run({
    x: tensor(new Float32Array(8), [4, 2]),
    at: tensor(BigInt64Array.of(0n, 2n ** 31n, 0n)),
  });
  await expect(fed).rejects.toMatchObject(beyond);
  await executable.dispose();
  const builder = new GraphBuilder();
  const value = tensor(BigInt64Array.of(0n, 2n ** 31n));
  const graph = builder.finish({
    y: builder.emitOne("Neg", [builder.emitOne("Constant", [], { value })], {}),
  });
  await expect(backend.compile(graph)).rejects.toMatchObject(beyond);
});
