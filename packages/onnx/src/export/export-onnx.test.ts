import { ops } from "@mp/core";
import { decodeArray, full, type HostTensor, key, type Tensor, tensor, zeros } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { refusal } from "../../test/small-models.js";
import { decodeModel } from "../decode.js";
import { encodeModel } from "../encode.js";
import { type OnnxModel, onnxGraph, onnxModel, onnxNode } from "../model.js";
import { readGraph } from "../read/read.js";
import { fromOnnx } from "../trainable/from-onnx.js";
import { exportOnnx } from "./export-onnx.js";
import type { ExportOptions } from "./export-options.js";
import { traceSizes, unevenSizes } from "./traced-sizes.js";

const params = {
  hidden: {
    kernel: tensor(Float32Array.of(1, 2.5, -3, 0.1, 0.2, 0.3), [3, 2]),
    bias: tensor(Float32Array.of(0.5, -0.5)),
  },
  out: { kernel: tensor(Float32Array.of(1, -1), [2, 1]) },
};
const inputs = { x: { shape: [1, 3] } } as const;
const dynamicAxes = { x: { 0: "batch" } } as const;

type Params = typeof params;
type Rest = Omit<ExportOptions, "inputs">;

const dense = (options: Rest = {}): OnnxModel =>
  exportOnnx(
    ({ hidden, out }, { x }) => {
      const y = ops.relu(ops.add(ops.matMul(x, hidden.kernel), hidden.bias));
      return { logits: ops.matMul(y, out.kernel) };
    },
    { params },
    { inputs, ...options },
  );

/** The message that refuses to export a function of one input with an open batch. */
const open = (fn: (x: Tensor) => Tensor): string =>
  refusal(() => exportOnnx((_: unknown, { x }) => fn(x), { params: {} }, { inputs, dynamicAxes }));

const weightsOf = ({ graph }: OnnxModel): Readonly<Record<string, HostTensor>> =>
  Object.fromEntries(graph.initializers.map(({ name, tensor }) => [name, tensor]));

describe("parameters", () => {
  it("are initializers under their paths, and come back", async () => {
    const model = dense({ metadata: { author: "me" } });
    expect(Object.keys(weightsOf(model)).sort()).toEqual(["hidden/bias", "hidden/kernel", "out/kernel"]);
    expect(model.graph.nodes.some(({ opType }) => opType === "Constant")).toBe(false);
    expect(model.metadata).toEqual({
      "mp.dtype": "f32",
      "mp.policy": "params=f32,compute=f32,output=f32",
      author: "me",
    });
    expect(model.producerName).toBe("@mp/onnx");
    expect(model.producerVersion).toMatch(/^\d+\.\d+\.\d+/);
    const read = await fromOnnx(encodeModel(model));
    expect([read.inputs, read.outputs]).toEqual([["x"], ["logits"]]);
    expect(read.init()).toEqual(params);
  });

  it.each(["f16", "bf16"] as const)("of %s take half the bytes, and values outside stay f32", (dtype) => {
    const model = dense({ dtype });
    const weights = weightsOf(model);
    expect(Object.values(weights).map((each) => each.dtype)).toEqual([dtype, dtype, dtype]);
    const kernel = weights["out/kernel"] as HostTensor<"f16">;
    expect([...decodeArray(dtype, kernel.data)]).toEqual([1, -1]);
    const types = [...model.graph.inputs, ...model.graph.outputs].map(({ type }) => type?.elementType);
    expect(types).toEqual(["f32", "f32"]);
  });

  it("of bf16 are widened, unless the target computes in it", () => {
    const dtypeOfProducts = (model: OnnxModel) => {
      const { graph } = readGraph(decodeModel(encodeModel(model)));
      return graph.nodes.flatMap(({ op, outputs }) => (op === "MatMul" ? [outputs[0]?.dtype] : []));
    };
    expect(dtypeOfProducts(dense({ dtype: "bf16" }))).toEqual(["f32", "f32"]);
    expect(dtypeOfProducts(dense({ dtype: "bf16", target: "cuda" }))).toEqual(["bf16", "bf16"]);
    expect(dtypeOfProducts(dense({ dtype: "f16" }))).toEqual(["f16", "f16"]);
  });

  it("that a half does not hold are refused", () => {
    const large: Params = { ...params, out: { kernel: tensor(Float32Array.of(1, 7e4), [2, 1]) } };
    const run = () =>
      exportOnnx(
        (tree, { x }) => ops.matMul(ops.matMul(x, tree.hidden.kernel), tree.out.kernel),
        { params: large },
        { inputs, dtype: "f16" },
      );
    expect(refusal(run)).toBe(
      'MP_OUT_OF_RANGE: exportOnnx: parameter "out/kernel" holds 70000 at 1, which is not finite in f16; export it in bf16 or f32',
    );
  });

  it("that nothing reads are left out", () => {
    const model = exportOnnx((tree, { x }) => ops.matMul(x, tree.hidden.kernel), { params }, { inputs });
    expect(Object.keys(weightsOf(model))).toEqual(["hidden/kernel"]);
    expect(model.graph.outputs.map(({ name }) => name)).toEqual(["output"]);
  });
});

describe("dynamic axes", () => {
  it("are declared by their names", () => {
    const { graph } = dense({ dynamicAxes });
    expect(graph.inputs.map(({ type }) => type?.shape)).toEqual([["batch", 3]]);
    expect(graph.outputs.map(({ type }) => type?.shape)).toEqual([["batch", 1]]);
  });

  it("leave one size of a reshape to the others, and read sizes where there are several", () => {
    const shapes = { x: { shape: [1, 4, 6] } } as const;
    const axes = { x: { 0: "batch", 1: "time" } } as const;
    const model = exportOnnx(
      (_, { x }) => {
        const [batch = 0, time = 0] = x.shape;
        return { rows: ops.reshape(x, [batch * time, 6]), heads: ops.reshape(x, [batch, time, 2, 3]) };
      },
      { params: {} },
      { inputs: shapes, dynamicAxes: axes },
    );
    const { graph } = readGraph(decodeModel(encodeModel(model)), { sizes: { batch: 5, time: 7 } });
    const outputs = Object.fromEntries(graph.outputs.map(({ name, value }) => [name, value.shape]));
    expect(outputs).toEqual({ rows: [35, 6], heads: [5, 7, 2, 3] });
    expect(model.graph.nodes.filter(({ opType }) => opType === "Shape")).toHaveLength(2);
  });

  it.each<readonly [string, (x: Tensor) => Tensor, string]>([
    [
      "a number that is computed from it",
      (x) => ops.mul(ops.reduceSum(x, { axes: [0] }), 1 / (x.shape[0] ?? 1)),
      "holds numbers",
    ],
    [
      "an end that is not the size",
      (x) => ops.slice(x, [{ axis: 0, end: (x.shape[0] ?? 1) - 1 }]),
      "operand 2",
    ],
    [
      "a table of its size that is no count",
      (x) =>
        ops.add(
          x,
          ops.constant(
            tensor(
              Float32Array.from({ length: x.shape[0] ?? 1 }, (_, at) => at * at),
              [x.shape[0] ?? 1, 1],
            ),
          ),
        ),
      "holds numbers",
    ],
    [
      "other operators",
      (x) => ((x.shape[0] ?? 0) > 2 ? ops.relu(x) : ops.relu(ops.tanh(x))),
      "other operators",
    ],
  ])("refuse %s", (_, fn, reason) => {
    const refused = open(fn);
    expect(refused).toMatch(/^MP_UNSUPPORTED: exportOnnx: dynamic axes "batch": /);
    expect(refused).toContain(reason);
  });

  it("count where a table does, whatever sizes occur elsewhere", () => {
    const axes = { x: { 0: "batch", 1: "time" } } as const;
    const table = ([batch = 0, time = 0]: readonly number[]) =>
      Int32Array.from({ length: batch * time * 2 }, (_, at) => {
        const [row, column, which] = [Math.floor(at / 2 / time), Math.floor(at / 2) % time, at % 2];
        return which === 0 ? 7 - 2 * row : row + 3 * column;
      });
    const model = exportOnnx(
      ({ bias }: { readonly bias: Tensor }, { x }) => {
        const [batch = 0, time = 0] = x.shape;
        const found = ops.cast(ops.constant(tensor(table(x.shape), [batch, time, 2])), "f32");
        // Sizes of two, three and five would be those of the axes.
        return ops.add(ops.add(found, ops.reshape(x, [batch, time, 1])), ops.reduceSum(bias));
      },
      { params: { bias: zeros([2, 3, 5]) } },
      { inputs: { x: { shape: [1, 1] } }, dynamicAxes: axes },
    );
    for (const shape of [
      [1, 1],
      [2, 3],
      [4, 2],
    ]) {
      const [batch = 0, time = 0] = shape;
      const { graph } = readGraph(decodeModel(encodeModel(model)), {
        sizes: { batch, time },
        isParameter: () => false,
      });
      const { output } = evaluate(graph, { x: zeros(shape) });
      expect([...(output?.data ?? [])]).toEqual([...table(shape)]);
    }
  });

  it("are read under names that nothing else has", () => {
    const model = exportOnnx(
      (tree, { x }) => ops.expand(ops.add(x, tree["sizes:0"]), [2, x.shape[0] ?? 1, 3]),
      { params: { "sizes:0": tensor(Float32Array.of(1, 2, 3)) } },
      { inputs, dynamicAxes },
    );
    const { nodes, initializers } = model.graph;
    const made = [...initializers.map(({ name }) => name), ...nodes.flatMap(({ outputs }) => outputs)];
    expect(new Set(made).size).toBe(made.length);
    expect(readGraph(model, { sizes: { batch: 5 } }).graph.outputs[0]?.value.shape).toEqual([2, 5, 3]);
  });

  it("take zeros of their size", () => {
    expect(open((x) => ops.concat([x, ops.constant(zeros([x.shape[0] ?? 1, 2]))], 1))).toBe("accepted");
  });

  it("may be sums of others", () => {
    const shapes = { x: { shape: [1] }, y: { shape: [2] }, both: { shape: [3] } } as const;
    const axes = { both: { 0: "before + after" }, x: { 0: "before" }, y: { 0: "after" } } as const;
    const model = exportOnnx(
      (_, { x, y, both }) => {
        const whole = both.shape[0] ?? 0;
        const counted = ops.cast(ops.range(x.shape[0] ?? 0, whole), "f32");
        return { joined: ops.add(ops.concat([x, y], 0), both), rest: ops.add(counted, y) };
      },
      { params: {} },
      { inputs: shapes, dynamicAxes: axes },
    );
    const { outputs } = decodeModel(encodeModel(model)).graph;
    expect(outputs.map(({ type }) => type?.shape)).toEqual([["before + after"], ["after"]]);
    for (const [before, after] of [
      [1, 1],
      [2, 5],
      [7, 4],
    ] as const) {
      const sizes = { before, after, "before + after": before + after };
      const { graph } = readGraph(decodeModel(encodeModel(model)), { sizes });
      const made = evaluate(graph, {
        x: full([before], 1),
        y: full([after], 2),
        both: full([before + after], 10),
      });
      const joined = [...Array<number>(before).fill(11), ...Array<number>(after).fill(12)];
      expect([...(made["joined"]?.data ?? [])]).toEqual(joined);
      const counted = Array.from({ length: after }, (_, at) => before + at + 2);
      expect([...(made["rest"]?.data ?? [])]).toEqual(counted);
    }
  });

  it("have sums that are no size of the model", () => {
    // 5 + 6 would be the first sum, and 5 + 8 the first uneven one.
    const open = ["past", "time"].map((name, at) => ({ name, terms: [name], size: 1, axes: [at] }));
    const both = { name: "past + time", terms: ["past", "time"], size: 2, axes: [2] };
    const taken = new Set([2, 3, 4, 11, 13]);
    const traced = traceSizes([...open, both] as never, taken);
    for (const sizes of [...traced, ...unevenSizes([...open, both] as never, traced, taken)]) {
      const [past = 0, time = 0, sum] = ["past", "time", "past + time"].map((name) => sizes.get(name));
      expect(sum).toBe(past + time);
      expect([...sizes.values()].filter((size) => taken.has(size))).toEqual([]);
    }
  });

  it("refuse what is not an axis, one name for two sizes, and sums that are none", () => {
    const refused = (axes: ExportOptions["dynamicAxes"]) => refusal(() => dense({ dynamicAxes: axes ?? {} }));
    expect(refused({ x: { 0: "n", 1: "n + m" } })).toContain(
      'MP_INVALID_ARGUMENT: exportOnnx: dynamicAxes: "n + m" is a sum, and no axis has the name "m"',
    );
    expect(refused({ x: { 0: "n", 1: "n + n" } })).toContain(
      '"n + n" must be the sum of its sizes, 2, got 3',
    );
    expect(refused({ y: { 0: "batch" } })).toContain(
      'MP_INVALID_ARGUMENT: exportOnnx: dynamicAxes: there is no input "y"',
    );
    expect(refused({ x: { 2: "batch" } })).toContain("has no axis 2");
    expect(refused({ x: { 0: "n", 1: "n" } })).toContain('"n" is 1 and 3');
  });
});

describe("a model", () => {
  it("that draws random numbers is refused", () => {
    expect(open((x) => ops.where(ops.randomBernoulli(key(1), 0.5, [1, 3]), x, 0))).toContain(
      "draws random numbers",
    );
  });

  it("is a layer or a function", () => {
    expect(refusal(() => exportOnnx({} as never, { params }, { inputs }))).toContain(
      "MP_INVALID_ARGUMENT: exportOnnx: takes a layer or a function",
    );
  });
});

describe("a model of a file", () => {
  const weights = {
    "layer.weight": [3, 2],
    "norm.mean": [2],
    "norm.var": [2],
    "norm.scale": [2],
    "norm.bias": [2],
  };
  const file = encodeModel(
    onnxModel(
      onnxGraph("file", {
        inputs: [{ name: "pixels", type: { elementType: "f32", shape: ["batch", 3] }, metadata: {} }],
        initializers: Object.entries(weights).map(([name, shape]) => ({ name, tensor: full(shape, 0.5) })),
        nodes: [
          onnxNode("MatMul", ["pixels", "layer.weight"], ["rows"], { name: "layer" }),
          onnxNode(
            "BatchNormalization",
            ["rows", "norm.scale", "norm.bias", "norm.mean", "norm.var"],
            ["classes"],
            { name: "norm" },
          ),
        ],
        outputs: [{ name: "classes", metadata: {} }],
      }),
    ),
  );

  it("keeps the file's names, and is read again with the same numbers", async () => {
    const read = await fromOnnx(file);
    const model = exportOnnx(
      read,
      { params: read.init(), state: read.initState() },
      { inputs: { pixels: { shape: [1, 3] } }, dynamicAxes: { pixels: { 0: "batch" } } },
    );
    expect(Object.keys(weightsOf(model))).toEqual(expect.arrayContaining(Object.keys(weights)));
    const withoutState = () =>
      exportOnnx(read, { params: read.init() }, { inputs: { pixels: { shape: [1, 3] } } });
    expect(withoutState).toThrow("exportOnnx: the model has statistics; pass { params, state:");
    expect(model.graph.outputs.map(({ name }) => name)).toEqual(["classes"]);
    const [before, after] = [file, encodeModel(model)].map((bytes) => {
      const { graph, parameters } = readGraph(decodeModel(bytes), { sizes: { batch: 2 } });
      return evaluate(graph, { ...parameters, pixels: full([2, 3], 0.3) })["classes"];
    });
    expect([...(after?.data ?? [])]).toEqual([...(before?.data ?? [])]);
  });
});

describe("a model of a file that makes tables of an open size", () => {
  const COLUMNS = 100;
  const file = encodeModel(
    onnxModel(
      onnxGraph("tables", {
        inputs: [{ name: "x", type: { elementType: "f32", shape: ["batch", COLUMNS] }, metadata: {} }],
        initializers: [{ name: "scale", tensor: full([COLUMNS], 3) }],
        nodes: [
          onnxNode("Shape", ["x"], ["sizes"], { name: "sizes" }),
          onnxNode("ConstantOfShape", ["sizes"], ["table"], {
            name: "table",
            attributes: { value: { kind: "tensor", value: full([1], 2) } },
          }),
          onnxNode("Mul", ["table", "scale"], ["scaled"], { name: "scaled" }),
          onnxNode("Neg", ["table"], ["negative"], { name: "negative" }),
          onnxNode("Add", ["scaled", "negative"], ["row"], { name: "row" }),
          onnxNode("Add", ["x", "row"], ["y"], { name: "y" }),
        ],
        outputs: [{ name: "y", metadata: {} }],
      }),
    ),
  );

  // A table of one row is small enough to be evaluated while the file is read, one of three is not.
  it.each([1, 2, 7])("is the same file whatever size is given, such as %i", async (size) => {
    const read = await fromOnnx(file);
    const exported = (batch: number) =>
      exportOnnx(
        read,
        { params: read.init() },
        { inputs: { x: { shape: [batch, COLUMNS] } }, dynamicAxes: { x: { 0: "batch" } } },
      );
    expect(exported(size)).toEqual(exported(1));
    const { graph, parameters } = readGraph(decodeModel(encodeModel(exported(size))), {
      sizes: { batch: 5 },
    });
    const { y } = evaluate(graph, { ...parameters, x: full([5, COLUMNS], 0.5) });
    expect(y).toEqual(full([5, COLUMNS], 4.5));
  });
});

describe("foldBatchNorm", () => {
  const wave = (seed: number, shape: readonly number[]) =>
    tensor(
      Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, at) => Math.sin(seed + at) + 1.2),
      shape,
    );
  const normalization = (seed: number) => ({
    scale: wave(seed, [3]),
    bias: wave(seed + 1, [3]),
    mean: wave(seed + 2, [3]),
    variance: wave(seed + 3, [3]),
  });
  const params = {
    first: wave(1, [3, 2, 3, 3]),
    second: wave(2, [3, 3, 1, 1]),
    third: wave(3, [3, 3, 1, 1]),
    norms: [normalization(4), normalization(5), normalization(6)],
  };
  const x = wave(9, [2, 2, 5, 5]);
  const normalized = (
    y: Tensor,
    { scale, bias, ...statistics }: Record<keyof ReturnType<typeof normalization>, Tensor>,
  ) => ops.normalizeByStatistics(y, scale, bias, statistics);
  const written = (options: Rest) =>
    exportOnnx(
      ({ first, second, third, norms: [one, two, three] }, { x }) => {
        const y = ops.relu(normalized(ops.conv(x, first), one as never));
        const read = ops.conv(y, second);
        // Something else reads the second convolution.
        const z = ops.add(normalized(read, two as never), read);
        return normalized(ops.conv(z, third), three as never);
      },
      { params },
      { inputs: { x: { shape: [1, 2, 5, 5] } }, dynamicAxes: { x: { 0: "batch" } }, ...options },
    );
  const numbers = (model: OnnxModel): readonly number[] => {
    const { graph } = readGraph(decodeModel(encodeModel(model)), {
      sizes: { batch: 2 },
      isParameter: () => false,
    });
    return [...(evaluate(graph, { x })["output"]?.data ?? [])].map(Number);
  };

  it.each([
    ["f32", 1e-5],
    ["f16", 1e-2],
  ] as const)(
    "of %s gives the same numbers, with normalizations in the convolutions before them",
    (dtype, relative) => {
      const [plain, folded] = [written({ dtype }), written({ dtype, foldBatchNorm: true })];
      const [wanted, found] = [numbers(plain), numbers(folded)];
      expect(found).toHaveLength(wanted.length);
      const largest = Math.max(...wanted.map(Math.abs));
      for (const [at, value] of found.entries())
        expect(Math.abs(value - (wanted[at] as number))).toBeLessThan(relative * largest);
      const count = (op: string): number => folded.graph.nodes.filter(({ opType }) => opType === op).length;
      // The second convolution's normalization stays, because its result is read twice.
      expect([count("Sub"), count("Sqrt"), count("Conv")]).toEqual([1, 1, 3]);
      expect(Object.keys(weightsOf(folded))).toContain("first_folded_bias");
      expect(Object.keys(weightsOf(folded))).not.toContain("first");
    },
  );
});

describe("an older operator set", () => {
  const apply = (_: unknown, { x }: { readonly x: Tensor }) => {
    const q = ops.reshape(ops.gelu(ops.add(ops.gelu(x), ops.gelu(x, { approximate: "tanh" }))), [1, 1, 3, 4]);
    const y = ops.attention(q, q, q, { isCausal: true });
    return ops.rmsNormalization(y, ops.constant(full([4], 1.5)));
  };
  const x = tensor(Float32Array.from({ length: 12 }, (_, at) => Math.sin(at) * 2));
  const written = (opset: number, dtype: "f32" | "f16" = "f32") =>
    exportOnnx(apply, { params: {} }, { inputs: { x: { shape: [12] } }, opset, dtype });

  it.each([18, 19, 20, 21, 22])("of %d has other operators and the same numbers", (opset) => {
    const model = written(opset);
    expect(model.opsets).toEqual({ "": opset });
    const made = model.graph.nodes.map(({ opType }) => opType);
    expect(made).not.toContain("Attention");
    expect(made).not.toContain("RMSNormalization");
    expect(made.includes("Gelu")).toBe(opset >= 20);
    const [older, newest] = [model, written(23)].map((each) => {
      const { graph } = readGraph(decodeModel(encodeModel(each)), { isParameter: () => false });
      return [...(evaluate(graph, { x })["output"]?.data ?? [])].map(Number);
    });
    for (const [at, value] of (older ?? []).entries())
      expect(value).toBeCloseTo(newest?.[at] ?? Number.NaN, 5);
    expect(older).toHaveLength(12);
  });

  it("is refused below 18 and above 23, and for what it cannot say", () => {
    expect(refusal(() => written(17))).toContain(
      "exportOnnx: opset must be an integer from 18 to 23, got 17",
    );
    expect(refusal(() => dense({ dtype: "bf16", target: "cuda", opset: 20 }))).toMatch(
      /^MP_UNSUPPORTED: exportOnnx: MatMul .* is of opset 22, got opset: 20/,
    );
  });
});

it("a layer that takes its only input by name is refused with what to do", () => {
  const layer = {
    apply: (_: unknown, { x }: { readonly x: Tensor }) => ops.relu(ops.reshape(x, [x.shape.length])),
  };
  expect(refusal(() => exportOnnx(layer as never, { params: {} }, { inputs }))).toContain(
    "MP_INVALID_ARGUMENT: exportOnnx: the layer fails on a tensor, its only input: Cannot read properties of undefined",
  );
});

it("transposes in f32 what a product computed in f16, which ONNX Runtime's CPU loads", () => {
  const [first, second] = [zeros([2, 3]), zeros([3, 4])];
  const layer = (weights: { first: Tensor; second: Tensor }, { x }: { x: Tensor }): Tensor =>
    ops.matMul(ops.transpose(ops.matMul(x, weights.first), [1, 0]), weights.second);
  const written = exportOnnx(
    layer,
    { params: { first, second } },
    { inputs: { x: { shape: [3, 2] } }, dtype: "f16" },
  );
  const at = written.graph.nodes.findIndex(({ opType }) => opType === "Transpose");
  const around = written.graph.nodes.slice(at - 1, at + 2);
  expect(around.map(({ opType }) => opType)).toEqual(["Cast", "Transpose", "Cast"]);
  const types = around.map(({ attributes }) => attributes["to"]?.value);
  expect(types).toEqual([1n, undefined, 10n]);
});

describe("a loop", () => {
  const looped = (options: Rest): OnnxModel =>
    exportOnnx(
      ({ kernel, start }, { x }) => {
        const step = (state: Tensor, element: Tensor) => {
          const next = ops.tanh(ops.add(ops.matMul(state, kernel), element));
          return [next, next] as const;
        };
        const [, all] = ops.scan(step, start, ops.reshape(x, [5, 1, 2]));
        return all;
      },
      { params: { kernel: tensor(Float32Array.of(1, 2, 3, 4), [2, 2]), start: zeros([1, 2]) } },
      { inputs: { x: { shape: [5, 2] } }, ...options },
    );
  const opsOf = ({ graph }: OnnxModel): readonly string[] => graph.nodes.map(({ opType }) => opType);

  it("is not written in f16 for a CPU, where ONNX Runtime can crash", () => {
    expect(refusal(() => looped({ dtype: "f16" }))).toMatch(
      /^MP_UNSUPPORTED: exportOnnx: the loop \S+ would compute in f16, which can crash ONNX Runtime on a CPU/,
    );
  });

  it.each<Rest>([{}, { dtype: "bf16" }, { dtype: "f16", target: "cuda" }])(
    "is written with %j",
    (options) => {
      expect(opsOf(looped(options))).toContain("Scan");
    },
  );
});
