// What a constant state is for: its values become part of the program, and the engine's optimizer sees them.
import {
  type Backend,
  type Executable,
  type Graph,
  GraphBuilder,
  type HostTensor,
  tensor,
  type Value,
} from "@mp/graph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

let backend: Backend;
beforeEach(async () => {
  backend = await ort({ threads: 1 });
});
afterEach(() => backend.dispose());

const CHANNELS = 16;
const wave = (seed: number, shape: readonly number[]): HostTensor<"f32"> =>
  tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, at) => Math.sin(seed + at) + 1.2),
    shape,
  );

const WEIGHTS = {
  kernel: wave(1, [CHANNELS, CHANNELS, 3, 3]),
  mean: wave(2, [CHANNELS, 1, 1]),
  gain: wave(3, [CHANNELS, 1, 1]),
  bias: wave(4, [CHANNELS, 1, 1]),
};

const image = { dtype: "f32", shape: [1, CHANNELS, 8, 8] } as const;

function normalizing(): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", image, "batch");
  const { kernel, mean, gain, bias } = Object.fromEntries(
    Object.entries(WEIGHTS).map(([name, { dtype, shape }]) => [
      name,
      builder.input(name, { dtype, shape }, "state"),
    ]),
  ) as Record<keyof typeof WEIGHTS, Value>;
  const window = { strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 };
  const convolved = builder.emitOne("Conv", [x, kernel], window);
  const centered = builder.emitOne("Sub", [convolved, mean], {});
  const scaled = builder.emitOne("Mul", [centered, gain], {});
  const shifted = builder.emitOne("Add", [scaled, bias], {});
  return builder.finish({ y: builder.emitOne("Relu", [shifted], {}) });
}

async function compiled(isConstant: boolean): Promise<Executable> {
  const state = await backend.createState(WEIGHTS, { constant: isConstant });
  return backend.compile(normalizing(), {
    state,
    bindings: Object.keys(WEIGHTS).map((name) => ({ slot: name, input: name })),
  });
}

const opsOf = async (executable: Executable): Promise<readonly string[]> =>
  [...new Set((await executable.profile?.({ x: wave(5, image.shape) }))?.map(({ op }) => op))].sort();

describe("a program over a constant state", () => {
  it("is one convolution, where that of a changing state is five nodes", async () => {
    const changing = await opsOf(await compiled(false));
    expect(changing).toEqual(expect.arrayContaining(["Add", "Mul", "Relu", "Sub"]));
    const constant = await opsOf(await compiled(true));
    expect(constant).toContain("Conv");
    for (const op of ["Add", "Mul", "Relu", "Sub"]) expect(constant).not.toContain(op);
  });

  it("computes the same within rounding", async () => {
    const x = wave(6, image.shape);
    const [constant, changing] = [await compiled(true), await compiled(false)];
    const [got, want] = [await constant.run({ x }), await changing.run({ x })].map(({ y }) => [
      ...(y?.data ?? []),
    ]);
    const largest = Math.max(...(want ?? []).map(Number));
    expect(got).toHaveLength(CHANNELS * 64);
    got?.forEach((element, at) => {
      expect(Math.abs(Number(element) - Number(want?.[at])) / largest).toBeLessThan(1e-5);
    });
  });

  it("holds no memory of its state after both were disposed", async () => {
    const before = backend.stats();
    const state = await backend.createState(WEIGHTS, { constant: true });
    const bindings = Object.keys(WEIGHTS).map((name) => ({ slot: name, input: name }));
    const executable = await backend.compile(normalizing(), { state, bindings });
    await executable.run({ x: wave(7, image.shape) });
    // Out of order: the state waits for its programs.
    await state.dispose();
    await executable.dispose();
    expect(backend.stats()).toEqual(before);
  });

  it("may have slots and constants that nothing reads", async () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
    builder.input("unread", { dtype: "f32", shape: [2000] }, "state");
    const graph = builder.finish({ y: builder.emitOne("Neg", [x], {}) });
    const state = await backend.createState({ unread: wave(1, [2000]) }, { constant: true });
    const executable = await backend.compile(graph, {
      state,
      bindings: [{ slot: "unread", input: "unread" }],
    });
    const { y } = await executable.run({ x: tensor(Float32Array.of(1, -2)) });
    expect(y?.data).toEqual(Float32Array.of(-1, 2));
  });

  it("may hold large constants of the graph besides, and return what is constant", async () => {
    const table = wave(8, [64, 32]);
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2, 64] }, "batch");
    const w = builder.input("w", { dtype: "f32", shape: [32] }, "state");
    const held = builder.emitOne("Constant", [], { value: table });
    const product = builder.emitOne("MatMul", [x, held], {});
    const graph = builder.finish({ y: builder.emitOne("Add", [product, w], {}), table: held, w });
    const state = await backend.createState({ w: wave(9, [32]) }, { constant: true });
    const executable = await backend.compile(graph, { state, bindings: [{ slot: "w", input: "w" }] });
    const results = await executable.run({ x: wave(10, [2, 64]) });
    expect(results["table"]).toEqual(table);
    expect(results["w"]).toEqual(wave(9, [32]));
    expect(results["y"]?.shape).toEqual([2, 32]);
  });
});
