/**
 * Random bits as the WebGPU provider gets them, on the processor: the models are those of that device, and what they
 * compute with is kernels of 32-bit integers.
 */
import { type Graph, GraphBuilder, type HostTensor, key, tensor, traceInto, type Value } from "@mp/graph";
import { setRandomCounter, squares32 } from "@mp/graph/internal";
import { randomUniform } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import type { ProbedEngine, Target } from "@mp/onnx-lowering";
import { runGraph } from "@mp/onnx-lowering/probe";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type NativeRuntime, openRuntime } from "../src/native/index.js";
import { engineToProbe } from "../src/probe/engine-to-probe.js";

const target: Target = {
  device: "webgpu",
  emulated: ["f16", "bf16"],
  widened: new Set(),
  blockSize: undefined,
  castsThroughDoubles: false,
};

let runtime: NativeRuntime;
let engine: ProbedEngine;
beforeAll(async () => {
  runtime = await openRuntime();
  engine = engineToProbe(runtime);
});
afterAll(() => runtime.dispose());

type Feeds = Readonly<Record<string, HostTensor>>;

async function expectOracle(graph: Graph, feeds: Feeds): Promise<void> {
  expect(await runGraph(engine, graph, target, feeds)).toEqual(evaluate(graph, feeds));
}

const after = (drawn: number): HostTensor => tensor(Int32Array.of(drawn), []);

/** Draws by each key after each count; the counts are inputs. */
function drawing(
  keys: readonly bigint[],
  shape: readonly number[],
  counts: readonly number[],
): { readonly graph: Graph; readonly feeds: Feeds } {
  const builder = new GraphBuilder();
  const bits = counts.flatMap((_, place) => {
    const drawn = builder.input(`drawn${place}`, { dtype: "i32", shape: [] }, "batch");
    return keys.map((drawKey, index): readonly [string, Value] => [
      `bits ${place} ${index}`,
      builder.emitOne("RandomBits", [drawn], { key: drawKey, shape }),
    ]);
  });
  const feeds = counts.map((count, place) => [`drawn${place}`, after(count)]);
  return { graph: builder.finish(new Map(bits)), feeds: Object.fromEntries(feeds) };
}

const KEYS = [1n, 3n, 0xd1342543de82ef95n, 2n ** 63n + 1n, 2n ** 64n - 1n];

it("draws the random bits after any count", async () => {
  const powers = [0, 8, 16, 24, 31].flatMap((power) => [2 ** power - 1, (2 ** power) | 0]);
  const others = Array.from({ length: 20 }, (_, index) => Math.imul(0x9e3779b9, index + 1));
  const { graph, feeds } = drawing(KEYS, [3], [...powers, ...others, -1]);
  await expectOracle(graph, feeds);
});

// A prime and a multiple of one have no rows of a fitting length; the last three have several rows.
it.each([[[]], [[1]], [[0]], [[2, 3]], [[1031]], [[2, 1031]], [[4096]], [[31, 1000]], [[70_000]]] as const)(
  "draws random bits of shape %j",
  async (shape) => {
    const { graph, feeds } = drawing(KEYS.slice(1, 3), shape, [2 ** 31 - 1]);
    await expectOracle(graph, feeds);
  },
);

it("draws what the paper says, element by element", async () => {
  const [drawKey = 0n] = KEYS.slice(2);
  const { graph, feeds } = drawing([drawKey], [20_000], [7]);
  const results = await runGraph(engine, graph, target, feeds);
  const bits = results["bits 0 0"]?.data as Int32Array;
  for (const place of [0, 1, 999, 1000, 1023, 1024, 1025, 12_345, 19_999])
    expect(bits[place]).toBe(squares32((7n << 32n) + BigInt(place), drawKey) | 0);
});

it("draws uniform numbers", async () => {
  const { graph } = traceInto(
    [{ name: "drawn", role: "batch", type: { dtype: "i32", shape: [] } }],
    ([drawn]) => {
      if (drawn !== undefined) setRandomCounter(drawn);
      return { a: randomUniform(key(7), [30, 50]), b: randomUniform(key(8), []) };
    },
  );
  await expectOracle(graph, { drawn: after(5) });
});
