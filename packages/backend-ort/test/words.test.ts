/**
 * 64-bit integers in words of 32 bits, as the WebGPU provider gets them, on the processor: the models are those of that
 * device, and what they compute with is kernels of 32-bit integers.
 */
import { type HostTensor, key, tensor } from "@mp/core";
import { type Graph, GraphBuilder, traceInto, type Value } from "@mp/core/graph";
import { setRandomCounter, squares32 } from "@mp/core/internal";
import { randomUniform } from "@mp/core/ops";
import { evaluate } from "@mp/core/reference";
import type { ProbedEngine, Target } from "@mp/ort-lowering";
import { runGraph } from "@mp/ort-lowering/probe";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type NativeRuntime, openRuntime } from "../src/native/index.js";
import { probedEngine } from "../src/probe/probed-engine.js";

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
  engine = probedEngine(runtime);
});
afterAll(() => runtime.dispose());

type Feeds = Readonly<Record<string, HostTensor>>;

async function expectOracle(graph: Graph, feeds: Feeds): Promise<void> {
  expect(await runGraph(engine, graph, target, feeds)).toEqual(evaluate(graph, feeds));
}

const u64 = (value: bigint): HostTensor => tensor(BigUint64Array.of(value), [], "u64");

/** Draws by each key and counter; the counters are inputs. */
function drawing(
  keys: readonly bigint[],
  shape: readonly number[],
  counters: readonly bigint[],
): { readonly graph: Graph; readonly feeds: Feeds } {
  const builder = new GraphBuilder();
  const bits = counters.flatMap((_, place) => {
    const counter = builder.input(`counter${place}`, { dtype: "u64", shape: [] }, "batch");
    return keys.map((drawKey, index): readonly [string, Value] => [
      `bits ${place} ${index}`,
      builder.emitOne("RandomBits", [counter], { key: drawKey, shape }),
    ]);
  });
  const feeds = counters.map((counter, place) => [`counter${place}`, u64(counter)]);
  return { graph: builder.finish(new Map(bits)), feeds: Object.fromEntries(feeds) };
}

const KEYS = [1n, 3n, 0xd1342543de82ef95n, 2n ** 63n + 1n, 2n ** 64n - 1n];

it("draws the random bits of any counter", async () => {
  const powers = [0n, 8n, 24n, 31n, 32n, 33n, 40n, 63n].flatMap((power) => [2n ** power - 1n, 2n ** power]);
  const others = Array.from({ length: 20 }, (_, index) =>
    BigInt.asUintN(64, 0x9e3779b97f4a7c15n * BigInt(index + 1)),
  );
  const { graph, feeds } = drawing(KEYS.slice(2, 3), [3], [...powers, ...others, 2n ** 64n - 2n]);
  await expectOracle(graph, feeds);
  const ofKeys = drawing(KEYS, [2], [2n ** 63n - 1n, 2n ** 33n]);
  await expectOracle(ofKeys.graph, ofKeys.feeds);
});

// A prime and a multiple of one have no rows of a fitting length; the last three have several rows.
it.each([[[]], [[1]], [[0]], [[2, 3]], [[1031]], [[2, 1031]], [[4096]], [[31, 1000]], [[70_000]]] as const)(
  "draws random bits of shape %j",
  async (shape) => {
    const { graph, feeds } = drawing(KEYS.slice(1, 3), shape, [2n ** 64n - 1000n]);
    await expectOracle(graph, feeds);
  },
);

it("draws what the paper says, element by element", async () => {
  const [drawKey = 0n] = KEYS.slice(2);
  const counter = 7n * 2n ** 32n;
  const { graph, feeds } = drawing([drawKey], [20_000], [counter]);
  const results = await runGraph(engine, graph, target, feeds);
  const bits = results["bits 0 0"]?.data as BigUint64Array;
  for (const place of [0, 1, 999, 1000, 1023, 1024, 1025, 12_345, 19_999])
    expect(bits[place]).toBe(BigInt(squares32(counter + BigInt(place), drawKey)));
});

it("draws uniform numbers", async () => {
  const { graph } = traceInto(
    [{ name: "counter", role: "batch", type: { dtype: "u64", shape: [] } }],
    ([counter]) => {
      if (counter !== undefined) setRandomCounter(counter);
      return { a: randomUniform(key(7), [30, 50]), b: randomUniform(key(8), []) };
    },
  );
  await expectOracle(graph, { counter: u64(5n * 2n ** 32n) });
});
