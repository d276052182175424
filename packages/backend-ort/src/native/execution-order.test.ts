import type { ValueType } from "@mp/core/graph";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelNode, modelBytes } from "../../test/onnx-bytes.js";
import { arenaStats } from "./arena.js";
import { executionOrder, lateFirst, listForSchedule } from "./execution-order.js";
import { profileRun } from "./profile.js";
import { type NativeRuntime, openRuntime } from "./runtime.js";

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

describe("listForSchedule", () => {
  it("makes ORT's walk follow any topological order", () => {
    fc.assert(
      fc.property(schedules, (schedule) => {
        const order = predicted(write(schedule)).filter((name) => !isAnchor(name));
        expect(order).toEqual(schedule.map(({ name }) => name));
      }),
    );
  });

  it("writes a depth-first schedule backwards and adds nothing", () => {
    const chain: ModelNode[] = ["a", "b", "c"].map((name, place) => ({
      op: "Neg",
      inputs: [place === 0 ? "x" : (["a", "b"][place - 1] as string)],
      outputs: [name],
      name,
    }));
    expect(listForSchedule(chain)).toEqual([2, 1, 0].map((position) => ({ kind: "node", position })));
  });

  it("anchors what depth first would run later", () => {
    const node = (name: string, ...inputs: string[]) => ({ op: "Sum", inputs, outputs: [name], name });
    const schedule = [node("a", "x"), node("b", "x"), node("c", "a"), node("d", "b"), node("e", "c", "d")];
    expect(predicted([...schedule].reverse())).toEqual(["a", "c", "b", "d", "e"]);
    const written = write(schedule);
    expect(written.filter(({ name }) => isAnchor(name)).length).toBe(2);
    expect(predicted(written).filter((name) => !isAnchor(name))).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("keeps the order of independent results", () => {
    const schedule = [2, 0, 1].map((index) => ({
      op: "Neg",
      inputs: ["x"],
      outputs: [`v${index}`],
      name: `v${index}`,
    }));
    expect(predicted(write(schedule))).toEqual(["v2", "v0", "v1"]);
  });

  it("stays quick on long schedules that need many anchors", () => {
    const lanes = 50;
    const schedule = Array.from({ length: 20_000 }, (_, place) => ({
      inputs: [place < lanes ? "x" : `v${place - lanes}`],
      outputs: [`v${place}`],
    }));
    // CPU time of this process, which does not grow on a busy machine: some 0.3 s, but minutes for a walk from every
    // node.
    const before = process.cpuUsage();
    const listed = listForSchedule(schedule);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(10);
    expect(listed.filter(({ kind }) => kind === "node").length).toBe(schedule.length);
  });
});

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

describe("lateFirst", () => {
  it("lists every node once, after the nodes that it reads", () => {
    fc.assert(
      fc.property(schedules, (schedule) => {
        const listed = lateFirst(schedule).map((place) => schedule[place] as ModelNode);
        expect(new Set(listed).size).toBe(schedule.length);
        const made = new Set(["x"]);
        for (const { inputs, outputs } of listed) {
          expect(inputs.every((name) => made.has(name))).toBe(true);
          for (const name of outputs) made.add(name);
        }
      }),
    );
  });

  it("makes the walk take what is scheduled first, where it is free to", () => {
    const node = (name: string, ...inputs: string[]): ModelNode => ({
      op: "Sum",
      inputs,
      outputs: [name],
      name,
    });
    const schedule = [node("a", "x"), node("b", "a"), node("c", "x"), node("d", "c"), node("e", "b", "d")];
    const order = (listed: readonly ModelNode[]) => predicted(listed).join("");
    expect(order(schedule)).toBe("cdabe");
    expect(order(lateFirst(schedule).map((place) => schedule[place] as ModelNode))).toBe("abcde");
  });
});
