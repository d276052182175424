import {
  adam,
  type Backend,
  float8,
  float32,
  mixedBfloat16,
  mixedFloat16,
  type Precision,
  sgd,
  tensor,
  trainer,
} from "@mp/core";
import { relu } from "@mp/core/ops";
import { type DType, type Graph, GraphBuilder, type Value } from "@mp/graph";
import { dense, meanSquaredError } from "@mp/nn";
import { beforeAll, describe, expect, it } from "vitest";
import { type ProductGroup, type StepFigures, stepFigures } from "../../src/compiled/compiled-step.js";
import { stepBound } from "../../src/deviceless/bound.js";
import {
  type CompiledGraph,
  compileLast,
  type DevicelessOptions,
  deviceless,
} from "../../src/deviceless/deviceless.js";
import { GPU_TARGETS } from "../../src/deviceless/gpu-target-table.js";
import { captureGraphs } from "./captured-graphs.js";

/** The most kernels of a step of the MLP, with its state donated. */
const KEPT_KERNELS = { float32: 46, mixed_bfloat16: 52, mixed_float16: 54 };
const GRAPHS = 60;

const HALVES: readonly string[] = ["bf16", "f16"];

type Changes = Partial<Omit<DevicelessOptions, "target">>;

/** What `run` had compiled for an H200. */
const compiledBy = (changes: Changes, run: (backend: Backend) => Promise<unknown>): Promise<CompiledGraph> =>
  compileLast({ target: "h200", ...changes }, run);

const compileGraph = async (graph: Graph, changes: Changes = {}): Promise<StepFigures> =>
  stepFigures((await compiledBy(changes, (backend) => backend.compile(graph))).step);

const SIZE = 1024;
const BATCH = 256;

const ones = (...shape: readonly number[]) =>
  tensor(new Float32Array(shape.reduce((a, b) => a * b)).fill(1), shape);

/** A step of an MLP of 4 dense layers of 1024, as bench's W1. */
const mlpStep = (precision: Precision, changes: Changes = {}): Promise<CompiledGraph> =>
  compiledBy(changes, async (backend) => {
    const layer = dense(SIZE, SIZE);
    const training = await trainer({
      backend,
      precision,
      params: Array.from({ length: 4 }, () => ({ kernel: ones(SIZE, SIZE), bias: ones(SIZE) })),
      optimizer: sgd({ learningRate: 1 }),
      loss: (weights, { x, y }) =>
        meanSquaredError(
          weights.reduce((input, own, index) => layer.apply(own, index === 0 ? input : relu(input)), x),
          y,
        ),
      onWarning: () => undefined,
    });
    await training.step({ x: ones(BATCH, SIZE), y: ones(BATCH, SIZE) });
    await training.dispose();
  });

/** The products that are not what was meant. */
const wrongProducts = ({ products }: StepFigures): readonly ProductGroup[] =>
  products.filter(({ operands, sum, mayUseTf32 }) => {
    const isHalf = operands.some((type) => HALVES.includes(type));
    return mayUseTf32 || (isHalf && (operands[0] !== operands[1] || sum !== "f32"));
  });

/** Bytes of floats; a cast to fewer rounds. */
const WIDTH: Readonly<Partial<Record<DType, number>>> = { f32: 4, f16: 2, bf16: 2, f8e4m3: 1, f8e5m2: 1 };
/** XLA's names where they differ. */
const XLA_NAMES: Readonly<Partial<Record<DType, string>>> = { f8e4m3: "f8e4m3fn" };

/** The dtypes that a graph's casts round to, once for each cast. */
const roundingCasts = ({ nodes }: Graph): readonly string[] =>
  nodes.flatMap(({ op, inputs, outputs }) => {
    const [from, to] = [inputs[0]?.dtype, outputs[0]?.dtype];
    if (op !== "Cast" || from === undefined || to === undefined) return [];
    return (WIDTH[to] ?? 8) < (WIDTH[from] ?? 0) ? [XLA_NAMES[to] ?? to] : [];
  });

/** The casts to a type that the kernels contain. */
const keptCasts = ({ casts }: StepFigures, to: string): number =>
  Object.entries(casts).reduce((sum, [cast, count]) => sum + (cast.endsWith(` -> ${to}`) ? count : 0), 0);

/** f32 to a half dtype and back. */
function roundTrip(half: "f16" | "bf16"): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype: "f32", shape: [1024] }, "batch");
  const narrow = builder.emitOne("Cast", [x], { to: half });
  return builder.finish({ y: builder.emitOne("Cast", [narrow], { to: "f32" }) });
}

function product(dtype: "f32" | "f16" | "bf16"): Graph {
  const builder = new GraphBuilder();
  const a = builder.input("a", { dtype, shape: [256, 256] }, "batch");
  return builder.finish({ y: builder.emitOne("MatMul", [a, a], {}) });
}

describe("graphs of conformance cases, compiled for an H200", () => {
  it("compile, and keep products and casts", async () => {
    const graphs = await captureGraphs(GRAPHS);
    expect(graphs).toHaveLength(GRAPHS);
    const compiled: CompiledGraph[] = [];
    const backend = deviceless({ target: "h200" }, (graph) => compiled.push(graph));
    const wrong: unknown[] = [];
    for (const { id, graph } of graphs) {
      await backend.compile(graph);
      const { step } = compiled.at(-1) as CompiledGraph;
      const figures = stepFigures(step);
      wrong.push(...wrongProducts(figures).map((found) => [id, found]));
      // Casts that are alike may be one, in one kernel.
      wrong.push(...roundingCasts(graph).filter((to) => keptCasts(figures, to) === 0));
    }
    await backend.dispose();
    expect(wrong).toEqual([]);
  });
});

describe("products and casts of an H200", () => {
  it.each(["f16", "bf16"] as const)(
    "keeps a cast to %s and back, which excess precision drops",
    async (half) => {
      const graph = roundTrip(half);
      expect(keptCasts(await compileGraph(graph), half)).toBe(1);
      const dropped = await compileGraph(graph, { flags: { xla_allow_excess_precision: true } });
      expect(keptCasts(dropped, half)).toBe(0);
    },
  );

  it("compiles a small product that has no tiles", async () => {
    const builder = new GraphBuilder();
    const [x, y] = [
      [16, 64],
      [64, 3],
    ].map((shape, at) => builder.input(`${at}`, { dtype: "f32", shape }, "batch"));
    const graph = builder.finish({ z: builder.emitOne("MatMul", [x as Value, y as Value], {}) });
    const { products } = await compileGraph(graph);
    expect(products.map(({ operands, count }) => [...operands, count])).toEqual([["f32", "f32", 1]]);
  });

  it("multiplies f32 without TF32 unless that is asked for", async () => {
    expect(wrongProducts(await compileGraph(product("f32")))).toEqual([]);
    const rounded = await compileGraph(product("f32"), { tf32: true });
    expect(wrongProducts(rounded)).toMatchObject([{ operands: ["f32", "f32"], mayUseTf32: true }]);
  });

  it.each(["f16", "bf16"] as const)("multiplies two of %s and sums in f32", async (half) => {
    expect((await compileGraph(product(half))).products).toMatchObject([
      { operands: [half, half], sum: "f32", count: 1 },
    ]);
  });
});

/** The codes of two matrices, each widened and scaled, multiplied with transposes. */
function byteProduct(scaleShape: readonly number[]): Graph {
  const builder = new GraphBuilder();
  const [a, b] = (["f8e4m3", "f8e5m2"] as const).map((dtype, at) => {
    const codes = builder.input(`codes ${at}`, { dtype, shape: [256, 128] }, "batch");
    const scale = builder.input(`scale ${at}`, { dtype: "f32", shape: scaleShape }, "batch");
    const wide = builder.emitOne("Cast", [codes], { to: "f32" });
    return builder.emitOne("Mul", [wide, scale], {});
  }) as [Value, Value];
  return builder.finish({
    y: builder.emitOne("Gemm", [a, b], { transA: true, transB: false, alpha: 1, beta: 1 }),
  });
}

const typesAndCounts = ({ products }: StepFigures) =>
  products.map(({ operands, sum, count }) => [...operands, sum, count]);

describe("products of 8-bit floats, compiled for an H200", () => {
  it.each([
    [false, "split-f32"],
    [true, "fewer-bits"],
  ] as const)("take the codes, and add as asked, with TF32 %s", async (tf32, sum) => {
    const figures = await compileGraph(byteProduct([]), { tf32 });
    expect(typesAndCounts(figures)).toEqual([["f8e4m3fn", "f8e5m2", sum, 1]]);
    expect(figures.products[0]?.operandBytes).toBe(2 * 256 * 128);
  });

  it("are of f32 if each row has a scale", async () => {
    expect(typesAndCounts(await compileGraph(byteProduct([256, 1])))).toEqual([["f32", "f32", "f32", 1]]);
  });

  it.each([
    ["", 6],
    ["of all layers", 11],
  ])("are all products that a recipe quantizes in a step of an MLP %s", async (layers, most) => {
    const precision = float8({ scopes: layers === "" ? {} : { "": true } });
    const figures = stepFigures((await mlpStep(precision)).step);
    expect(wrongProducts(figures)).toEqual([]);
    const eighths = figures.products.filter(({ operands }) =>
      operands.every((type) => type.startsWith("f8")),
    );
    expect(eighths.reduce((sum, { count }) => sum + count, 0)).toBe(most);
    expect(eighths.every(({ sum }) => sum === "split-f32")).toBe(true);
  });
});

/** The gradient of a convolution's weights, [64, 32, 3, 3], for 16 images. */
function weightGradient(dtype: "bf16" | "f32"): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", { dtype, shape: [16, 32, 8, 8] }, "batch");
  const dy = builder.input("dy", { dtype, shape: [16, 64, 8, 8] }, "batch");
  const gradient = builder.emitOne("ConvWeightGradient", [x, dy], {
    ...{ strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1, kernelShape: [3, 3] },
  });
  return builder.finish({ gradient });
}

describe("eight H200", () => {
  it.each(["bf16", "f32"] as const)(
    "add gradients of weights of convolutions in %s as f32",
    async (dtype) => {
      const { products, exchangedBytes } = await compileGraph(weightGradient(dtype), { devices: 8 });
      expect(products).toMatchObject([{ operands: [dtype, dtype], count: 1 }]);
      expect(exchangedBytes).toEqual({ "all-reduce": 4 * 64 * 32 * 9 });
    },
  );
});

describe("kernels of an H200", () => {
  it("reads a state to check its update and again to write it, and writes it once", async () => {
    const layer = dense(SIZE, SIZE);
    const { step } = await compiledBy({}, async (backend) => {
      const training = await trainer({
        backend,
        params: { kernel: ones(SIZE, SIZE), bias: ones(SIZE) },
        optimizer: adam({ learningRate: 1 }),
        loss: (weights, { x, y }) => meanSquaredError(layer.apply(weights, x), y),
      });
      await training.step({ x: ones(16, SIZE), y: ones(16, SIZE) });
      await training.dispose();
    });
    // Besides its weight, moments and gradient, twice read, and three of them written, a kernel is read and a gradient made.
    expect(stepFigures(step).bytes).toBeLessThan((8 + 3 + 2 + 1) * 4 * SIZE ** 2);
  });
});

/** Attention and its gradient, of heads as layers make them. */
function attention(dtype: DType): Graph {
  const builder = new GraphBuilder();
  const [dy, query, key, value] = ["dy", "query", "key", "value"].map((name) => {
    const x = builder.input(name, { dtype, shape: [2, 128, 4, 64] }, "batch");
    return builder.emitOne("Transpose", [x], { perm: [0, 2, 1, 3] });
  }) as [Value, Value, Value, Value];
  const attributes = { scale: 0.125, isCausal: true, softcap: 0 };
  const y = builder.emitOne("Attention", [query, key, value], attributes);
  const slopes = builder.emit("AttentionGradient", [dy, query, key, value], attributes);
  const results = [y, ...slopes].map((x) => builder.emitOne("Transpose", [x], { perm: [0, 2, 1, 3] }));
  return builder.finish(Object.fromEntries(results.map((x, index) => [`y${index}`, x])));
}

describe("attention, compiled for an H200", () => {
  it.each(["f16", "bf16"] as const)(
    "of %s is two calls of cuDNN, and nothing is transposed",
    async (half) => {
      const { kernelsByKind, products } = await compileGraph(attention(half), { flashAttention: true });
      expect(kernelsByKind).toEqual({
        "call __cudnn$fmhaSoftmax": 1,
        "call __cudnn$fmhaSoftmaxBackward": 1,
      });
      const one = 2 * (2 * 128 * 4 * 64) * 128;
      expect(products).toMatchObject([
        { operands: [half, half], sum: "f32", flops: 5 * one },
        { operands: [half, half], sum: "f32", flops: 2 * one },
      ]);
    },
  );

  it("of f32 is written out, and so is all of it unless that is asked for", async () => {
    const { products } = await compileGraph(attention("f32"), { flashAttention: true });
    expect(products.filter(({ kind }) => kind.includes("fmha"))).toEqual([]);
    expect(products.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(4);
    await expect(compileGraph(attention("bf16"))).rejects.toMatchObject({ code: "MP_UNSUPPORTED" });
  });
});

describe("a step of an MLP, compiled for an H200", () => {
  const steps: Record<string, CompiledGraph> = {};
  beforeAll(async () => {
    steps["float32"] = await mlpStep(float32());
    steps["mixed_bfloat16"] = await mlpStep(mixedBfloat16());
    steps["mixed_float16"] = await mlpStep(mixedFloat16());
  });
  const stepOf = (precision: string): CompiledGraph => {
    const step = steps[precision];
    if (step === undefined) throw new Error(precision);
    return step;
  };

  it.each(Object.entries(KEPT_KERNELS))("takes few kernels in %s", (precision, most) => {
    const figures = stepFigures(stepOf(precision).step);
    expect(figures.kernels).toBeLessThanOrEqual(most);
    expect(figures.unknownLoops).toBe(0);
  });

  it.each([
    ["float32", "f32"],
    ["mixed_bfloat16", "bf16"],
    ["mixed_float16", "f16"],
  ])("has 11 products of its type in %s", (precision, type) => {
    const figures = stepFigures(stepOf(precision).step);
    expect(wrongProducts(figures)).toEqual([]);
    for (const { operands, sum } of figures.products) expect([...operands, sum]).toEqual([type, type, "f32"]);
    const total = (of: (group: ProductGroup) => number): number =>
      figures.products.reduce((all, group) => all + of(group), 0);
    expect(total(({ count }) => count)).toBe(11);
    // Forward, and both gradients but that of the batch.
    expect(total(({ flops }) => flops)).toBe(11 * 2 * BATCH * SIZE ** 2);
  });

  it.each([
    ["mixed_bfloat16", "bf16"],
    ["mixed_float16", "f16"],
  ])("keeps the casts of %s", (precision, half) => {
    const { graph, step } = stepOf(precision);
    expect(keptCasts(stepFigures(step), half)).toBeGreaterThanOrEqual(roundingCasts(graph).length);
  });

  it("takes over the memory of its state, unless that is kept", async () => {
    const parameters = 4 * (4 * SIZE ** 2 + 4 * SIZE);
    expect(stepFigures(stepOf("float32").step).memory.aliased).toBeGreaterThanOrEqual(parameters);
    const kept = await mlpStep(float32(), { donate: false });
    expect(kept.step.memory.aliased).toBe(0);
  });

  it("moves the gradients between eight of them, once and in float32", async () => {
    const { kernels, exchangedBytes } = stepFigures((await mlpStep(mixedBfloat16(), { devices: 8 })).step);
    const gradients = 4 * (4 * SIZE ** 2 + 4 * SIZE);
    expect(Object.keys(exchangedBytes)).toEqual(["all-reduce"]);
    expect(exchangedBytes["all-reduce"]).toBeGreaterThan(gradients);
    expect(exchangedBytes["all-reduce"]).toBeLessThanOrEqual(1.05 * gradients);
    expect(kernels).toBeLessThanOrEqual(1.5 * KEPT_KERNELS.mixed_bfloat16);
    expect(stepFigures(stepOf("mixed_bfloat16").step).exchangedBytes).toEqual({});
  });

  it("moves fewer bytes in halves, and has a lower bound", () => {
    const [wide, half] = ["float32", "mixed_bfloat16"].map((precision) => stepOf(precision).step);
    if (wide === undefined || half === undefined) throw new Error("not compiled");
    expect(stepFigures(half).bytes).toBeLessThan(stepFigures(wide).bytes);
    const { published } = GPU_TARGETS.h200;
    expect(stepBound(half, published).boundMs).toBeLessThan(stepBound(wide, published).boundMs);
    expect(stepBound(wide, published).productsMs).toBeCloseTo((11 * 2 * BATCH * SIZE ** 2 * 1000) / 66.9e12);
  });
});
