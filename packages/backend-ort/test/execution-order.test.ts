import type { ValueType } from "@mp/graph";
import { executionOrder, listForSchedule } from "@mp/onnx-lowering";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { arenaStats } from "../src/native/arena.js";
import { profileRun } from "../src/native/profile.js";
import { type NativeRuntime, openRuntime } from "../src/native/runtime.js";
import { type ModelNode, modelBytes } from "./onnx-bytes.js";

/** Nodes in a topological order: node i reads values of nodes before it, or the graph's input. */
const schedules: fc.Arbitrary<readonly ModelNode[]> = fc
  .array(fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 40 })
  .map((choices) =>
    choices.map((picks, place) => ({
      op: "Sum",
      inputs: picks.map((pick) => (pick % (place + 1) === 0 ? "x" : `v${(pick % (place + 1)) - 1}`)),
      outputs: [`v${place}`],
      name: `n${place}`,
    })),
  );

function write(schedule: readonly ModelNode[]): readonly ModelNode[] {
  return listForSchedule(schedule).map((listed) =>
    listed.kind === "node"
      ? (schedule[listed.position] as ModelNode)
      : {
          op: "Shape",
          inputs: [listed.value],
          outputs: [`anchor:${listed.value}`],
          name: `anchor:${listed.value}`,
          attributes: { start: 0, end: 0 },
        },
  );
}

const isAnchor = (name: string | undefined) => name?.startsWith("anchor:") === true;

function predicted(listed: readonly ModelNode[]): string[] {
  return executionOrder(listed).map((place) => listed[place]?.name ?? "");
}

describe("the engine", () => {
  let runtime: NativeRuntime;
  beforeAll(async () => {
    runtime = await openRuntime({ threads: 1 });
  });
  afterAll(() => runtime.dispose());

  const type: ValueType = { dtype: "f32", shape: [2] };

  async function ran(nodes: readonly ModelNode[]): Promise<string[]> {
    const read = new Set(nodes.flatMap(({ inputs }) => inputs));
    const results = nodes.flatMap(({ outputs }) => outputs).filter((name) => !read.has(name));
    const kept = results.filter((name) => !isAnchor(name));
    const session = await runtime.createSession(
      modelBytes({ nodes, inputs: { x: type }, outputs: Object.fromEntries(kept.map((n) => [n, type])) }),
    );
    const binding = runtime.bind(session);
    binding.bindInput("x", runtime.allocate(type));
    for (const name of kept) binding.bindOutput(name, runtime.allocate(type));
    const events = await profileRun(binding);
    binding.release();
    session.release();
    return events.map(({ node }) => node);
  }

  it("runs any list in the order that is predicted, and ours in the order of the schedule", async () => {
    await fc.assert(
      fc.asyncProperty(schedules, async (schedule) => {
        expect(await ran(schedule)).toEqual(predicted(schedule));
        const written = write(schedule);
        const order = await ran(written);
        expect(order).toEqual(predicted(written));
        expect(order.filter((name) => !isAnchor(name))).toEqual(schedule.map(({ name }) => name));
      }),
      { numRuns: 25 },
    );
  });

  /** tanh layers with a weight each, and their gradient: what is cheap to compute early is expensive to keep. */
  it("halves the memory of a chain of layers with its gradient", async () => {
    const layers = 24;
    const side: ValueType = { dtype: "f32", shape: [64, 64] };
    const scalar: ValueType = { dtype: "f32", shape: [] };
    const y = (layer: number) => (layer < 0 ? "x" : `y${layer}`);
    const node = (op: string, output: string, ...inputs: string[]): ModelNode => ({
      op,
      inputs,
      outputs: [output],
    });
    const down = Array.from({ length: layers }, (_, layer) => layer);
    const schedule = [
      ...down.flatMap((i) => [node("Mul", `a${i}`, y(i - 1), "w"), node("Tanh", y(i), `a${i}`)]),
      node("Neg", `g${layers}`, y(layers - 1)),
      ...down
        .reverse()
        .flatMap((i) => [
          node("Mul", `s${i}`, y(i), y(i)),
          node("Sub", `d${i}`, "one", `s${i}`),
          node("Mul", `da${i}`, `g${i + 1}`, `d${i}`),
          node("Mul", `p${i}`, `da${i}`, y(i - 1)),
          { ...node("ReduceSum", `dw${i}`, `p${i}`), attributes: { keepdims: 0 } },
          node("Mul", i === 0 ? "dx" : `g${i}`, `da${i}`, "w"),
        ]),
    ];
    const results = { dx: side, ...Object.fromEntries(down.map((i) => [`dw${i}`, scalar])) };
    const peak = async (nodes: readonly ModelNode[]): Promise<number> => {
      const session = await runtime.createSession(
        modelBytes({ nodes, inputs: { x: side, w: scalar, one: scalar }, outputs: results }),
        { arena: "own" },
      );
      const binding = runtime.bind(session);
      binding.bindInput("x", runtime.allocate(side));
      for (const name of ["w", "one"]) binding.bindInput(name, runtime.allocate(scalar));
      for (const [name, result] of Object.entries(results)) {
        binding.bindOutput(name, runtime.allocate(result));
      }
      binding.runSync();
      return arenaStats(session)?.maxBytesInUse ?? 0;
    };
    const buffer = 64 * 64 * 4;
    const written = write(schedule);
    expect(written.length).toBe(schedule.length);
    expect(await peak(written)).toBeLessThanOrEqual((layers + 3) * buffer);
    expect(await peak(schedule)).toBeGreaterThan(1.8 * layers * buffer);
  });
});
