/** Corner cases of the engine's kernels that the suite does not reach, compared with the oracle. */
import {
  type DType,
  decode,
  GraphBuilder,
  type HostTensor,
  isFloat,
  type Op,
  type OpAttributes,
  type Shape,
  tensor,
  type Value,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { decodeModel } from "@mp/onnx";
import { lowerGraph } from "@mp/onnx-lowering";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ort } from "../src/index.js";

let backend: Awaited<ReturnType<typeof ort>>;
beforeAll(async () => {
  backend = await ort();
});
afterAll(() => backend.dispose());

/** One NaN for all, and no sign of zero, which the vocabulary leaves open except in data movement. */
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

async function expectOracle<K extends Op>(
  op: K,
  inputs: readonly HostTensor[],
  attributes: OpAttributes[K],
): Promise<void> {
  const builder = new GraphBuilder();
  const values = inputs.map((input, index) => builder.input(`x${index}`, input, "batch"));
  const results = builder.emit(op, values, attributes);
  const graph = builder.finish(Object.fromEntries(results.map((value, index) => [`y${index}`, value])));
  const feeds = Object.fromEntries(inputs.map((input, index) => [`x${index}`, input]));
  const executable = await backend.compile(graph);
  expect(comparable(await executable.run(feeds))).toEqual(comparable(evaluate(graph, feeds)));
  await executable.dispose();
}

const { NaN: nan, POSITIVE_INFINITY: inf, NEGATIVE_INFINITY: low } = Number;
const f32 = (numbers: readonly number[], shape?: Shape): HostTensor =>
  tensor(Float32Array.from(numbers), shape ?? [numbers.length]);
const u64 = (numbers: readonly bigint[], shape?: Shape): HostTensor =>
  tensor(BigUint64Array.from(numbers), shape ?? [numbers.length], "u64");

/** Infinity before and after NaN, equals, both zeros, numbers at the end of the range. */
const mixed = f32([1, inf, nan, 3.4028234663852886e38, inf, -0, 0, nan, low, 1, -3.4028234663852886e38, 2]);

it.each([true, false])("TopK, largest %s: NaN beyond infinity, equals in order", async (largest) => {
  for (const k of [1, 3, 12]) await expectOracle("TopK", [mixed], { axis: 0, k, largest });
  const rows = f32([nan, 1, 2, 5, nan, 4, inf, nan, low], [3, 3]);
  await expectOracle("TopK", [rows], { axis: 0, k: 2, largest });
});

it("ArgMax and ArgMin: the first NaN, else the first of equals", async () => {
  for (const keepdims of [true, false]) {
    const rows = f32([1, nan, nan, 2, 2, 1, low, inf, inf], [3, 3]);
    await expectOracle("ArgMax", [rows], { axis: 1, keepdims });
    await expectOracle("ArgMin", [rows], { axis: 0, keepdims });
  }
});

const HUGE = [2n ** 63n, 1n, 2n ** 64n - 1n, 2n ** 63n - 1n, 0n, 5n];

it("u64 beyond the range of i64", async () => {
  const rows = u64(HUGE, [2, 3]);
  for (const op of ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"] as const) {
    await expectOracle(op, [rows], { axes: [1], keepdims: false });
    await expectOracle(op, [rows], { axes: [0, 1], keepdims: true });
  }
  for (const op of ["ArgMax", "ArgMin"] as const)
    await expectOracle(op, [rows], { axis: 1, keepdims: false });
  for (const largest of [true, false]) await expectOracle("TopK", [rows], { axis: 1, k: 2, largest });
  const condition = tensor(Uint8Array.of(1, 0, 1), [3], "bool");
  await expectOracle("Where", [condition, rows, u64(HUGE.slice(0, 3))], {});
});

it.each<DType>(["i32", "i64"])("sums and products of %s wrap, and keep every bit", async (dtype) => {
  const most = dtype === "i64" ? 2n ** 63n - 1n : 2n ** 31n - 1n;
  const numbers = [most, 3n, -5n, most / 2n + 1n, 1n, 7n, most, most, 2n, 0n];
  const rows =
    dtype === "i64"
      ? tensor(BigInt64Array.from(numbers), [2, 5], "i64")
      : tensor(Int32Array.from(numbers, Number), [2, 5], "i32");
  for (const op of ["ReduceSum", "ReduceProd"] as const) {
    for (const axes of [[0], [1], [0, 1]]) await expectOracle(op, [rows], { axes, keepdims: true });
  }
});

it("Where on bools broadcasts all three", async () => {
  const bools = (numbers: readonly number[], shape: Shape): HostTensor =>
    tensor(Uint8Array.from(numbers), shape, "bool");
  const inputs = [bools([1, 0], [2, 1]), bools([1, 0, 1], [3]), bools([0], [])];
  await expectOracle("Where", inputs, {});
});

it.each<DType>(["f8e4m3", "f8e5m2"])("casts to %s where it ends", async (to) => {
  const edges = [
    448,
    463.9,
    464,
    464.1,
    480,
    57344,
    61439.9,
    61440,
    65536,
    1e30,
    inf,
    nan,
    2 ** -9,
    2 ** -17,
  ];
  await expectOracle("Cast", [f32([...edges, ...edges.map((x) => -x)])], { to });
});

it("Elu near 0, far below and at infinity", async () => {
  const points = [0, -0, -1e-30, -1e-8, -1e-3, -0.49, -0.51, -20, -1000, low, inf, nan, 3];
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [points.length] }, "batch");
  const executable = await backend.compile(builder.finish({ y: builder.emitOne("Elu", [x], { alpha: 2 }) }));
  const { y } = await executable.run({ x: f32(points) });
  points.forEach((point, index) => {
    const want = point > 0 || Number.isNaN(point) ? point : 2 * Math.expm1(point);
    const got = y?.data[index] as number;
    if (Number.isFinite(want)) expect(Math.abs(got - want)).toBeLessThanOrEqual(Math.abs(want) * 3e-7);
    else expect(got).toBe(want);
  });
  await executable.dispose();
});

it("Clip with one bound lets infinities through on the other side", async () => {
  await expectOracle("Clip", [mixed], { min: 0 });
  await expectOracle("Clip", [mixed], { max: 0 });
  await expectOracle("Clip", [mixed], {});
});

it("scalars where the engine wants a dimension", async () => {
  const index = tensor(Int32Array.of(-1), [], "i32");
  await expectOracle("OneHot", [index], { axis: 0, depth: 3, dtype: "f32" });
  await expectOracle("Pad", [f32([7], [])], { pads: [], mode: "constant", value: 1 });
});

it("dimensions of 0 wherever they stand", async () => {
  const empty = f32([], [0, 4]);
  await expectOracle("Add", [empty, f32([1, 2, 3, 4])], {});
  await expectOracle("ReduceSum", [empty], { axes: [0], keepdims: false });
  await expectOracle("MatMul", [f32([], [3, 0]), f32([], [0, 2])], {});
  await expectOracle("Concat", [empty, f32([1, 2, 3, 4], [1, 4])], { axis: 0 });
  await expectOracle("Reshape", [empty], { shape: [2, 0] });
  await expectOracle("Transpose", [empty], { perm: [1, 0] });
  await expectOracle("Softmax", [empty], { axis: 1 });
});

it("convolutions of whole blocks: in blocks where the engine has them, and the same without", async () => {
  const image = (shape: Shape): HostTensor => {
    const length = shape.reduce((product, size) => product * size, 1);
    return f32(
      Array.from({ length }, (_, at) => ((at * 7) % 5) - 2),
      shape,
    );
  };
  const window = { strides: [1, 1], pads: [1, 0, 1, 1], dilations: [1, 1], group: 1 };
  const builder = new GraphBuilder();
  const feeds = { x: image([16, 16, 4, 5]), w: image([32, 16, 3, 2]), dy: image([16, 32, 4, 5]) };
  const [x, w, dy] = Object.entries(feeds).map(([name, type]) => builder.input(name, type, "batch"));
  const operands = { x: x as Value, w: w as Value, dy: dy as Value };
  const graph = builder.finish({
    y: builder.emitOne("Conv", [operands.x, operands.w], window),
    dx: builder.emitOne("ConvTranspose", [operands.dy, operands.w], { ...window, outputPadding: [0, 0] }),
    dw: builder.emitOne("ConvWeightGradient", [operands.x, operands.dy], { ...window, kernelShape: [3, 2] }),
  });
  const opsIn = (blockSize: number | undefined): readonly string[] => {
    const { model } = lowerGraph(graph, {
      device: "cpu",
      emulated: [],
      widened: new Set(),
      blockSize,
      castsThroughDoubles: false,
    });
    return decodeModel(model).graph.nodes.map(({ domain, opType }) =>
      domain === "" ? opType : `blocked ${opType}`,
    );
  };
  const count = (ops: readonly string[], op: string): number => ops.filter((one) => one === op).length;
  expect(count(opsIn(16), "blocked Conv")).toBe(3);
  // The weight gradient converts x once, and dy twice: by images and by results.
  expect(count(opsIn(16), "blocked ReorderInput")).toBe(5);
  const plain = opsIn(undefined);
  expect([count(plain, "Conv"), count(plain, "ConvTranspose"), count(plain, "Gemm")]).toEqual([2, 0, 1]);
  const executable = await backend.compile(graph);
  expect(comparable(await executable.run(feeds))).toEqual(comparable(evaluate(graph, feeds)));
  await executable.dispose();
});

it.each([
  ["a constant that holds no -1", "i32", [3, 0, 7], ["Div"]],
  ["a constant that holds -1", "i64", [3, -1], ["Equal", "Where", "Mul", "Mul", "Div"]],
  ["an input", "i32", undefined, ["Equal", "Where", "Mul", "Mul", "Div"]],
  ["an input of u64, where nothing overflows", "u64", undefined, ["Div"]],
] as const)("guards a division by %s as it needs", (_, dtype, divisors, wanted) => {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype, shape: [] }, "batch");
  const y =
    divisors === undefined
      ? builder.input("y", { dtype, shape: [2] }, "batch")
      : builder.constant(
          dtype === "i32" ? tensor(Int32Array.from(divisors)) : tensor(BigInt64Array.from(divisors, BigInt)),
        );
  const graph = builder.finish({ z: builder.emitOne("Div", [x, y], {}) });
  const { model } = lowerGraph(graph, {
    device: "cpu",
    emulated: [],
    widened: new Set(),
    blockSize: undefined,
    castsThroughDoubles: false,
  });
  const ops = decodeModel(model).graph.nodes.map(({ opType }) => opType);
  expect(ops.filter((op) => op !== "Constant").sort()).toEqual([...wanted].sort());
});
