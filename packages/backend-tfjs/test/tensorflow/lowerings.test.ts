/**
 * Corner cases of TensorFlow's kernels and of its graph optimizer that the suite does not reach, compared with the
 * oracle.
 */
import {
  type Backend,
  type DType,
  decode,
  type Graph,
  GraphBuilder,
  type HostTensor,
  isFloat,
  type Op,
  type OpAttributes,
  type Shape,
  tensor,
  ulpDistance,
  type Value,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { afterAll, beforeAll, expect, it } from "vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

/** Makes all NaNs equal, and zeros of both signs: only data movement must keep the sign of a zero. */
function comparable(values: Readonly<Record<string, HostTensor>>): unknown {
  const number = (dtype: DType, raw: number | bigint): unknown => {
    if (!isFloat(dtype) || typeof raw === "bigint") return raw;
    return (dtype === "f32" ? raw : decode(dtype, raw)) + 0;
  };
  return Object.entries(values).map(([name, { dtype, shape, data }]) => [
    name,
    dtype,
    shape,
    Array.from(data as ArrayLike<number | bigint>, (raw) => number(dtype, raw)),
  ]);
}

const { NaN: nan, POSITIVE_INFINITY: inf, NEGATIVE_INFINITY: low } = Number;
const f32 = (numbers: readonly number[], shape?: Shape): HostTensor =>
  tensor(Float32Array.from(numbers), shape ?? [numbers.length]);
const i32 = (numbers: readonly number[], shape?: Shape): HostTensor =>
  tensor(Int32Array.from(numbers), shape ?? [numbers.length]);
const i64 = (numbers: readonly bigint[], shape?: Shape): HostTensor =>
  tensor(BigInt64Array.from(numbers), shape ?? [numbers.length], "i64");
const u64 = (numbers: readonly bigint[], shape?: Shape): HostTensor =>
  tensor(BigUint64Array.from(numbers), shape ?? [numbers.length], "u64");
const counted = (shape: Shape): HostTensor => {
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  return f32(
    Array.from({ length: size }, (_, at) => ((at * 7) % 23) - 11),
    shape,
  );
};

await withTensorFlow((tf) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await tfjs({ tf });
  });
  afterAll(() => backend.dispose());

  async function run(graph: Graph, feeds: Readonly<Record<string, HostTensor>>) {
    const executable = await backend.compile(graph);
    try {
      return await executable.run(feeds);
    } finally {
      await executable.dispose();
    }
  }

  /** Calls `build` with inputs named x0, x1, … */
  function graphOf(
    inputs: readonly HostTensor[],
    build: (builder: GraphBuilder, values: readonly Value[]) => readonly Value[],
  ) {
    const builder = new GraphBuilder();
    const values = inputs.map((input, index) => builder.input(`x${index}`, input, "batch"));
    const results = build(builder, values);
    const graph = builder.finish(Object.fromEntries(results.map((value, index) => [`y${index}`, value])));
    return { graph, feeds: Object.fromEntries(inputs.map((input, index) => [`x${index}`, input])) };
  }

  async function expectSame(...parts: Parameters<typeof graphOf>): Promise<void> {
    const { graph, feeds } = graphOf(...parts);
    expect(comparable(await run(graph, feeds))).toEqual(comparable(evaluate(graph, feeds)));
  }

  const expectOracle = <K extends Op>(op: K, inputs: readonly HostTensor[], attributes: OpAttributes[K]) =>
    expectSame(inputs, (builder, values) => builder.emit(op, values, attributes));

  const expectFailure = async <K extends Op>(
    op: K,
    inputs: readonly HostTensor[],
    attributes: OpAttributes[K],
  ) => {
    const { graph, feeds } = graphOf(inputs, (builder, values) => builder.emit(op, values, attributes));
    await expect(run(graph, feeds)).rejects.toMatchObject({ code: expect.stringMatching(/^MP_/) });
  };

  /** Infinity before and after NaN, equals, both zeros, numbers at the end of the range. */
  const mixed = f32([1, inf, nan, 3.4028234663852886e38, inf, -0, 0, nan, low, 1, -3.4028234663852886e38, 2]);

  it.each([true, false])("TopK, largest %s: NaN beyond infinity, equals in order", async (largest) => {
    for (const k of [1, 3, 12]) await expectOracle("TopK", [mixed], { axis: 0, k, largest });
    const rows = f32([nan, 1, 2, 5, nan, 4, inf, nan, low], [3, 3]);
    for (const axis of [0, 1]) await expectOracle("TopK", [rows], { axis, k: 2, largest });
    await expectOracle("TopK", [i32([-(2 ** 31), 2 ** 31 - 1, 0, -1, 0])], { axis: 0, k: 5, largest });
  });

  it.each([6, 7, 8])("broadcasts over %d axes that alternate, and normalizes the last", async (rank) => {
    const along = (isLong: (axis: number) => boolean): Shape =>
      Array.from({ length: rank }, (_, axis) => (isLong(axis) ? 2 : 1));
    const [odd, even] = [counted(along((axis) => axis % 2 === 1)), counted(along((axis) => axis % 2 === 0))];
    const whole = along(() => true);
    for (const op of ["Add", "Sub", "Mul", "Max", "Less"] as const) await expectOracle(op, [odd, even], {});
    for (const x of [odd, even]) await expectOracle("Expand", [x], { shape: whole });
    const isLess = tensor(
      Uint8Array.from({ length: 2 ** rank }, (_, at) => at % 2),
      whole,
      "bool",
    );
    await expectOracle("Where", [isLess, odd, even], {});
    const axes = whole.flatMap((_, axis) => (axis % 2 === 0 ? [axis] : []));
    await expectOracle("ReduceLogSumExp", [f32(Array(2 ** rank).fill(0), whole)], { axes, keepdims: true });
    const ones = f32(Array(2 ** rank).fill(1), whole);
    const { graph, feeds } = graphOf([ones], (builder, values) =>
      builder.emit("Softmax", values, { axis: rank - 1 }),
    );
    const halves = (await run(graph, feeds))["y0"];
    expect(halves?.shape).toEqual(whole);
    // Softmax multiplies by estimated reciprocals, so that on some processors half is 2 ** -25 less.
    expect([...(halves?.data ?? [])]).toEqual(Array(2 ** rank).fill(expect.closeTo(0.5, 6)));
  });

  it("ArgMax and ArgMin: the first NaN, else the first of equals", async () => {
    for (const keepdims of [true, false]) {
      const rows = f32([1, nan, nan, 2, 2, 1, low, inf, inf], [3, 3]);
      await expectOracle("ArgMax", [rows], { axis: 1, keepdims });
      await expectOracle("ArgMin", [rows], { axis: 0, keepdims });
      await expectOracle("ArgMax", [f32([low, low, low, low], [2, 2])], { axis: 1, keepdims });
    }
  });

  it("u64 beyond the range of i64", async () => {
    const huge = [2n ** 63n, 1n, 2n ** 64n - 1n, 2n ** 63n - 1n, 0n, 5n];
    const rows = u64(huge, [2, 3]);
    for (const op of ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"] as const) {
      await expectOracle(op, [rows], { axes: [1], keepdims: false });
      await expectOracle(op, [rows], { axes: [0, 1], keepdims: true });
    }
    for (const op of ["ArgMax", "ArgMin"] as const)
      await expectOracle(op, [rows], { axis: 1, keepdims: false });
    for (const largest of [true, false]) await expectOracle("TopK", [rows], { axis: 1, k: 2, largest });
    await expectOracle("Clip", [rows], { min: 2, max: 2 ** 63 });
    const condition = tensor(Uint8Array.of(1, 0, 1), [3], "bool");
    await expectOracle("Where", [condition, rows, u64(huge.slice(0, 3))], {});
  });

  it("integers: division of the smallest by -1, sums and products that wrap", async () => {
    await expectOracle("Div", [i32([-(2 ** 31), -7, 7]), i32([-1, 2, -2])], {});
    await expectOracle("Mod", [i32([-(2 ** 31), -7, 7]), i32([-1, 2, -2])], { fmod: false });
    const most = 2n ** 63n - 1n;
    const rows = i64([most, 3n, -5n, most / 2n + 1n, 1n, 7n, most, most, 2n, 0n], [2, 5]);
    for (const op of ["ReduceSum", "ReduceProd"] as const)
      for (const axes of [[0], [1], [0, 1]]) await expectOracle(op, [rows], { axes, keepdims: true });
    await expectFailure("Div", [i32([1]), i32([0])], {});
  });

  it.each<"f16" | "bf16">(["f16", "bf16"])("integers become %s in one rounding", async (to) => {
    // Ties of the half dtype, and their neighbors, which f32 would round onto the ties.
    const ties = [2 ** 24 + 2 ** 16, 2 ** 30 + 2 ** 22, 2 ** 11 + 1, 2 ** 11 + 3, 65519, 65520, 2 ** 31 - 2];
    const near = ties.flatMap((x) => [x - 1, x, x + 1]);
    await expectOracle("Cast", [i32([...near, ...near.map((x) => -x), -(2 ** 31)])], { to });
    const wide = [2n ** 40n + 2n ** 32n, 2n ** 62n + 2n ** 54n, 2n ** 63n - 2n ** 55n].flatMap((x) => [
      x - 1n,
      x,
      x + 1n,
    ]);
    await expectOracle("Cast", [i64([...wide, ...wide.map((x) => -x), 2n ** 63n - 1n, -(2n ** 63n), 0n])], {
      to,
    });
    await expectOracle("Cast", [u64([...wide, 2n ** 63n, 2n ** 63n + 2n ** 55n + 1n, 2n ** 64n - 1n, 0n])], {
      to,
    });
  });

  it("scatters: NaN through extrema, products of repeated rows, sides that are not crossed evenly", async () => {
    const data = f32([1, nan, 3, -4]);
    const places = i32([0, 0, 1, 2, -1, -1]);
    const updates = f32([nan, 2, 5, -1, low, 7]);
    for (const reduction of ["max", "min"] as const) {
      await expectOracle("ScatterElements", [data, places, updates], { axis: 0, reduction });
      const rows = tensor(Int32Array.from(places.data as Int32Array), [6, 1]);
      await expectOracle("ScatterND", [data, rows, updates], { reduction });
    }
    const block = [counted([4, 3]), i32([1, -1, 1], [3, 1]), counted([3, 3])];
    await expectOracle("ScatterND", block, { reduction: "mul" });
    const corner = [counted([3, 4, 5]), i32([3, -4, 0, 0, 1, 1], [2, 1, 3]), counted([2, 1, 3])];
    for (const reduction of ["none", "add", "mul"] as const)
      await expectOracle("ScatterElements", corner, { axis: 1, reduction });
    await expectOracle("GatherElements", corner.slice(0, 2), { axis: 1 });
    await expectOracle("GatherElements", [counted([3, 4, 5]), i32([2, -3, 0, 1], [1, 4, 1])], { axis: 0 });
  });

  it("sums into zeros, as gradients of gathers are", async () => {
    for (const dtype of ["f32", "f16", "bf16", "i32"] as const) {
      await expectSame([i32([[1, 1, -1, 3]].flat(), [4, 1]), counted([4, 3])], (builder, [places, rows]) => {
        const zero = builder.emitOne("Expand", [builder.literal(0, dtype)], { shape: [5, 3] });
        const updates = builder.emitOne("Cast", [rows as Value], { to: dtype });
        const sum = builder.emitOne("ScatterND", [zero, places as Value, updates], { reduction: "add" });
        const other = builder.emitOne("ScatterElements", [zero, builder.emitOne("Expand", [places as Value], { shape: [4, 3] }), updates], { axis: 0, reduction: "add" }); // biome-ignore format: one node
        const max = builder.emitOne("ScatterND", [zero, places as Value, updates], { reduction: "max" });
        return [sum, other, max, builder.emitOne("Add", [zero, sum], {})];
      });
    }
  });

  it.each([3, -4, 2 ** 31 - 1])("index %s outside 3 rows fails the run", async (index) => {
    const rows = counted([3, 2]);
    const own = i32([0, index]);
    await expectFailure("Gather", [rows, own], { axis: 0 });
    await expectFailure("GatherND", [rows, i32([0, index], [2, 1])], { batchDims: 0 });
    await expectFailure("GatherElements", [rows, i32([0, index], [2, 1])], { axis: 0 });
    await expectFailure("GatherElements", [counted([2, 3]), i32([0, index], [2, 1])], { axis: 1 });
    for (const reduction of ["none", "add", "mul", "max"] as const) {
      await expectFailure("ScatterND", [rows, i32([0, index], [2, 1]), counted([2, 2])], { reduction });
      await expectFailure("ScatterElements", [rows, i32([0, index], [2, 1]), counted([2, 1])], {
        axis: 0,
        reduction,
      });
    }
  });

  it.each([3, -1])("label %s of 3 classes fails the run, unless it is ignored", async (label) => {
    for (const op of ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"] as const) {
      for (const shape of [
        [2, 3],
        [2, 3, 1],
        [2, 3, 4],
      ]) {
        // biome-ignore format: one list
        const count = (shape[0] as number) * (shape[2] ?? 1);
        const labels = i32(
          Array.from({ length: count }, (_, at) => (at === 1 ? label : at % 3)),
          [shape[0] as number, ...shape.slice(2)],
        );
        await expectFailure(op, [counted(shape), labels], { reduction: "mean" });
        await expectFailure(op, [counted(shape), labels], { reduction: "sum", ignoreIndex: 0 });
      }
    }
    const { graph, feeds } = graphOf([counted([2, 3]), i32([0, label])], (builder, values) =>
      builder.emit("NegativeLogLikelihoodLoss", values, { reduction: "mean", ignoreIndex: label }),
    );
    expect((await run(graph, feeds))["y0"]?.data[0]).toBe(11);
  });

  it("sums and products are not regrouped", async () => {
    // The optimizer knows the shapes of values read from a state, so it rewrites those most.
    const slots = {
      x: f32([1, 3, -5, 7], [2, 2]),
      y: f32([1e8, 1e8, 1e8, 1e8], [2, 2]),
      z: f32([-1e8, -1e8, -1e8, -1e8], [2, 2]),
      s: f32([1e38], []),
      t: f32([1e-30], []),
    };
    const builder = new GraphBuilder();
    const [x, y, z, s, t] = Object.entries(slots).map(([name, slot]) => builder.input(name, slot, "state"));
    if (x === undefined || y === undefined || z === undefined || s === undefined || t === undefined)
      throw new Error("an input is missing");
    const number = (value: number): Value => builder.literal(value, "f32");
    const on = (op: "Add" | "Sub" | "Mul" | "Div", left: Value, right: Value): Value =>
      builder.emitOne(op, [left, right], {});
    const outputs = [
      on("Add", on("Add", x, s), builder.emitOne("Neg", [s], {})),
      on("Add", y, on("Add", z, on("Add", x, x))),
      on("Mul", on("Mul", x, s), t),
      on("Sub", on("Add", x, number(1e8)), number(1e8)),
      on("Mul", on("Mul", x, number(1e38)), number(1e-30)),
      on("Div", x, number(3)),
    ];
    const graph = builder.finish(Object.fromEntries(outputs.map((value, index) => [`y${index}`, value])));
    const state = await backend.createState(slots);
    const bindings = Object.keys(slots).map(
      (name) => ({ slot: name, input: name, commit: "always" }) as const,
    );
    const executable = await backend.compile(graph, { state, bindings });
    expect(comparable(await executable.run({}))).toEqual(comparable(evaluate(graph, slots)));
    await executable.dispose();
    await state.dispose();
  });

  it("rows that are added to rows, columns and squares that are summed", async () => {
    const rows = counted([4, 3]);
    for (const inputs of [[rows, counted([3])], [counted([3]), rows], [counted([2, 4, 3]), counted([3])]])
      await expectOracle("Add", inputs, {}); // biome-ignore format: one list
    await expectOracle("Add", [counted([0, 3]), counted([3])], {});
    for (const keepdims of [true, false]) {
      await expectOracle("ReduceSum", [rows], { axes: [0], keepdims });
      await expectOracle("ReduceSum", [counted([2, 4, 3])], { axes: [0, 1], keepdims });
      await expectOracle("ReduceSum", [counted([0, 3])], { axes: [0], keepdims });
      await expectOracle("ReduceSumSquare", [rows], { axes: [0, 1], keepdims });
      await expectOracle("ReduceSumSquare", [f32([2e19, 2e19], [1, 2])], { axes: [0, 1], keepdims });
      await expectOracle("ReduceSum", [counted([1, 3, 1])], { axes: [0, 2], keepdims });
    }
  });

  it("softmax along any axis spoils the row of a NaN and no other", async () => {
    const x = f32([0, 0, nan, 0, 0, 0, low, low, 0], [3, 3]);
    for (const axis of [0, 1]) {
      for (const op of ["Softmax", "LogSoftmax"] as const) {
        const { graph, feeds } = graphOf([x], (builder, values) => builder.emit(op, values, { axis }));
        const [got, want] = [await run(graph, feeds), evaluate(graph, feeds)];
        const kinds = (values: Readonly<Record<string, HostTensor>>): string[] =>
          Array.from(values["y0"]?.data as Float32Array, (y) =>
            Number.isFinite(y) ? y.toFixed(5) : String(y),
          );
        expect(kinds(got)).toEqual(kinds(want));
      }
    }
  });

  it("slices that take nothing, pads of every mode, axes of one element", async () => {
    const x = counted([2, 3, 4]);
    const slice = (starts: readonly number[], ends: readonly number[], steps: readonly number[]) =>
      expectOracle("Slice", [x], { starts, ends, axes: [1, 2], steps });
    await slice([3, 0], [3, 4], [1, 2]);
    await slice([0, 3], [3, -1], [2, -1]);
    await slice([2, 0], [-1, 4], [-1, 1]);
    await slice([2, 2], [1, 0], [1, -1]);
    for (const mode of ["constant", "reflect", "edge"] as const)
      await expectOracle("Pad", [x], { pads: [1, 2, 3, 0, 1, 2], mode, value: -1.5 });
    await expectOracle("Transpose", [counted([1, 3, 1, 2])], { perm: [2, 1, 0, 3] });
    await expectOracle("Transpose", [counted([1, 3, 1, 2])], { perm: [3, 0, 1, 2] });
  });

  it("gradients of normalizations that share statistics, in other dtypes, shapes and with other epsilons", async () => {
    const x = counted([2, 3, 4, 4]);
    const channels = f32([1, -2, 0.5]);
    const { graph, feeds } = graphOf([x, channels], (builder, values) => {
      const [x0, c] = values as readonly [Value, Value];
      const half = builder.emitOne("Cast", [x0], { to: "f16" });
      const rows = builder.emitOne("Reshape", [x0], { shape: [8, 3, 4] });
      const statistics = (of: Value): readonly [Value, Value] => {
        const [, mean, variance] = builder.emit("BatchNormalization", [of, c, c], { epsilon: 1e-3 });
        return [mean, variance] as unknown as readonly [Value, Value];
      };
      const gradient = (of: Value, [mean, variance]: readonly [Value, Value], epsilon: number) =>
        builder.emit("BatchNormalizationGradient", [of, of, c, mean, variance], { epsilon });
      const [own, others] = [statistics(x0), statistics(half)];
      return [
        ...gradient(x0, own, 1e-3),
        ...gradient(half, others, 1e-3),
        ...gradient(x0, others, 1e-3),
        ...gradient(half, own, 1e-3),
        ...gradient(x0, own, 4),
        ...gradient(rows, own, 1e-3),
        ...gradient(x0, [own[0], others[0]], 1e-3),
      ];
    });
    const numbers = (values: Readonly<Record<string, HostTensor>>): readonly number[] =>
      Object.values(values).flatMap(({ dtype, data }) =>
        Array.from(data as ArrayLike<number>, (raw) => (dtype === "f16" ? decode("f16", raw) : raw)),
      );
    const want = numbers(evaluate(graph, feeds));
    numbers(await run(graph, feeds)).forEach((got, at) => {
      const exact = want[at] as number;
      if (Number.isNaN(exact)) expect(got).toBeNaN();
      else expect(Math.abs(got - exact)).toBeLessThanOrEqual(2e-3 * Math.max(1, Math.abs(exact)));
    });
  });

  it("Elu near 0, far below and at infinity", async () => {
    const points = [0, -0, -1e-30, -1e-8, -1e-3, -0.49, -0.51, -20, -1000, low, inf, nan, 3];
    const { graph, feeds } = graphOf([f32(points)], (builder, values) =>
      builder.emit("Elu", values, { alpha: 2 }),
    );
    const { y0 } = await run(graph, feeds);
    points.forEach((point, index) => {
      const want = point > 0 || Number.isNaN(point) ? point : 2 * Math.expm1(point);
      const got = y0?.data[index] as number;
      if (Number.isFinite(want)) expect(Math.abs(got - want)).toBeLessThanOrEqual(Math.abs(want) * 5e-7);
      else expect(got).toBe(want);
    });
  });

  it.each(["f16", "bf16"] as const)("Sigmoid of every %s is right to a unit", async (half) => {
    const every = tensor(
      Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits),
      [2 ** 16],
      half,
    );
    const { graph, feeds } = graphOf([every], (builder, values) => builder.emit("Sigmoid", values, {}));
    const [got, want] = [(await run(graph, feeds))["y0"], evaluate(graph, feeds)["y0"]].map((result) =>
      Array.from(result?.data as Uint16Array, (bits) => decode(half, bits)),
    ) as [number[], number[]];
    // Subnormals of f32 and bf16 are flushed, as the manifest says.
    const wrong = want.flatMap((number, at) =>
      number >= 2 ** -125 && ulpDistance(half, got[at] as number, number) > 1 ? [decode(half, at)] : [],
    );
    expect(wrong).toEqual([]);
  });
});
