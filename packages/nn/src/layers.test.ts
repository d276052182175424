// Layers and losses, with their gradients, against PyTorch's in double precision.
import { readFileSync } from "node:fs";
import {
  type HostTensor,
  key,
  type Tensor,
  type TensorTree,
  type Tree,
  tensor,
  valueAndGrad,
} from "@mp/core";
import { type Graph, isNode, traceInto } from "@mp/core/graph";
import { add, constant, mul, reduceSum } from "@mp/core/ops";
import type { RawTensor } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import {
  bidirectional,
  convolution,
  dense,
  embedding,
  flatten,
  gru,
  layerNorm,
  lstm,
  meanAbsoluteError,
  meanSquaredError,
  multiHeadAttention,
  rmsNorm,
  sequential,
  sigmoidFocalLoss,
  silu,
  softmaxCrossEntropy,
  transposedConvolution,
} from "./index.js";

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
type Named<V> = Readonly<Record<string, V>>;
interface Case {
  readonly inputs: Named<Numbers>;
  /** Weights of each output in the sum whose gradients are compared. */
  readonly weights: Named<Numbers>;
  readonly outputs: Named<Numbers>;
  readonly gradients: Named<Numbers>;
}
const fixture = JSON.parse(
  readFileSync(new URL("../test/fixtures/layers.json", import.meta.url), "utf8"),
) as Named<Case | string>;

type In = Named<Tensor>;
const integers = new Set(["indices", "labels", "targets"]);
const host = (name: string, { shape, data }: Numbers): HostTensor =>
  integers.has(name) ? tensor(Int32Array.from(data), shape) : tensor(Float32Array.from(data), shape);

function attended(t: In, causal: boolean): Tensor {
  const names = ["query", "key", "value", "output"];
  const parameters = Object.fromEntries(
    names.map((name) => [name, { kernel: t[name], bias: t[`${name}Bias`] }]),
  );
  const input = { x: t["x"] as Tensor, memory: t["memory"] as Tensor };
  return multiHeadAttention(6, 2, { isCausal: causal }).apply(parameters as never, input);
}

/** The parameters of both directions of a recurrent layer. */
function directions(t: In): never {
  const of = (direction: string): In =>
    Object.fromEntries(
      Object.entries(t).flatMap(([name, tensor]) =>
        name.startsWith(`${direction}_`) ? [[name.slice(direction.length + 1), tensor]] : [],
      ),
    );
  return { forward: of("forward"), backward: of("backward") } as never;
}

/** Computes each case with a layer of this package, from tensors with the same names. */
const layers: Named<(t: In) => In> = {
  lstm: (t) => {
    const { x, hidden, cell, input, recurrent, bias } = t as Record<string, Tensor>;
    const layer = lstm(4, 2);
    const { y, state } = layer.apply({ input, recurrent, bias } as never, {
      x: x as Tensor,
      state: { hidden: hidden as Tensor, cell: cell as Tensor },
    });
    return { y, ...state };
  },
  layerNorm: (t) => ({ y: layerNorm(5).apply(t as never, t["x"] as Tensor) }),
  dense: (t) => ({ y: dense(4, 5).apply(t as never, t["x"] as Tensor) }),
  embedding: (t) => ({ y: embedding(7, 4).apply(t as never, t["indices"] as Tensor) }),
  softmaxCrossEntropy: (t) => ({ y: softmaxCrossEntropy(t["logits"] as Tensor, t["labels"] as Tensor) }),
  meanSquaredError: (t) => ({ y: meanSquaredError(t["prediction"] as Tensor, t["target"] as Tensor) }),
  gru: (t) => {
    const { y, hidden } = gru(4, 2).apply(t as never, { x: t["x"] as Tensor, hidden: t["hidden"] as Tensor });
    return { y, hidden };
  },
  crossAttention: (t) => ({ y: attended(t, false) }),
  causalAttention: (t) => ({ y: attended(t, true) }),
  smoothedCrossEntropy: (t) => ({
    y: softmaxCrossEntropy(t["logits"] as Tensor, t["labels"] as Tensor, { labelSmoothing: 0.2 }),
  }),
  weightedSmoothedCrossEntropy: (t) => ({
    y: softmaxCrossEntropy(t["logits"] as Tensor, t["labels"] as Tensor, {
      labelSmoothing: 0.2,
      ignoreIndex: -100,
      weights: constant(tensor(Float32Array.of(0.5, 2, 1, 0.25, 1.5))),
    }),
  }),
  conv: (t) => ({
    y: convolution(4, 6, [3, 2], { stride: [2, 1], padding: [1, 2], dilation: [1, 2], groups: 2 }).apply(
      t as never,
      t["x"] as Tensor,
    ),
  }),
  conv1d: (t) => ({
    y: convolution(3, 4, [3], { padding: "same", bias: false }).apply(t as never, t["x"] as Tensor),
  }),
  convTranspose: (t) => ({
    y: transposedConvolution(4, 3, 3, { stride: 2, padding: 1, outputPadding: 1 }).apply(
      t as never,
      t["x"] as Tensor,
    ),
  }),
  focalLoss: (t) => ({
    y: sigmoidFocalLoss(t["logits"] as Tensor, t["targets"] as Tensor, {
      alpha: 0.3,
      gamma: 1.5,
      reduction: "sum",
    }),
  }),
  rmsNorm: (t) => ({ y: rmsNorm(5).apply(t as never, t["x"] as Tensor) }),
  silu: (t) => ({ y: silu(t["x"] as Tensor) }),
  flatten: (t) => ({ y: flatten(t["x"] as Tensor) }),
  meanAbsoluteError: (t) => ({ y: meanAbsoluteError(t["prediction"] as Tensor, t["target"] as Tensor) }),
  bidirectionalLstm: (t) => {
    const { x, hidden_forward, cell_forward, hidden_backward, cell_backward } = t as Record<string, Tensor>;
    const { y, forward, backward } = bidirectional(lstm(4, 2)).apply(directions(t), {
      x: x as Tensor,
      forward: { state: { hidden: hidden_forward as Tensor, cell: cell_forward as Tensor } },
      backward: { state: { hidden: hidden_backward as Tensor, cell: cell_backward as Tensor } },
    });
    return {
      y,
      hidden_forward: forward.state.hidden,
      cell_forward: forward.state.cell,
      hidden_backward: backward.state.hidden,
      cell_backward: backward.state.cell,
    };
  },
  bidirectionalGru: (t) => {
    const { x, hidden_forward, hidden_backward } = t as Record<string, Tensor>;
    const { y, forward, backward } = bidirectional(gru(4, 2)).apply(directions(t), {
      x: x as Tensor,
      forward: { hidden: hidden_forward as Tensor },
      backward: { hidden: hidden_backward as Tensor },
    });
    return { y, hidden_forward: forward.hidden, hidden_backward: backward.hidden };
  },
};

function expectClose(got: Tree<RawTensor>, want: Named<Numbers>, what: string): void {
  const named = got as Named<RawTensor>;
  expect(Object.keys(named).sort(), what).toEqual(Object.keys(want).sort());
  for (const [name, { shape, data }] of Object.entries(want)) {
    expect(named[name]?.shape, `${what} ${name}`).toEqual(shape);
    for (const [index, number] of numbers(named[name]).entries()) {
      expect(Math.abs(number - (data[index] ?? Number.NaN)), `${what} ${name}[${index}]`).toBeLessThan(1e-9);
    }
  }
}

describe("as PyTorch computes it, and its gradients", () => {
  it.each(Object.entries(layers))("%s", (name, layer) => {
    const { inputs, weights, outputs, gradients } = fixture[name] as Case;
    const data = {
      inputs: Object.fromEntries(Object.entries(inputs).map(([input, given]) => [input, host(input, given)])),
      weights: Object.fromEntries(
        Object.entries(weights).map(([output, given]) => [output, host(output, given)]),
      ),
    };
    expectClose(
      run(data.inputs, (t) => layer(t as In)),
      outputs,
      "output",
    );
    const result = run(data, (t) => {
      const given = t as { readonly inputs: In; readonly weights: In };
      const floats = Object.fromEntries(
        Object.entries(given.inputs).filter(([input]) => !integers.has(input)),
      );
      const sum = (parameters: In): Tensor =>
        Object.entries(layer({ ...given.inputs, ...parameters }))
          .map(([output, y]) => reduceSum(mul(y, given.weights[output] as Tensor)))
          .reduce((total, part) => add(total, part));
      return valueAndGrad(sum)(floats).gradients as TensorTree;
    });
    expectClose(result, gradients, "gradient");
  });

  it("covers every layer and loss with parameters or numbers of its own", () => {
    expect(Object.keys(fixture).filter((name) => name !== "torch")).toEqual(Object.keys(layers));
  });
});

describe("initial parameters", () => {
  it("have the shapes and names that the layer takes", () => {
    const shapes = (parameters: object): unknown =>
      Object.fromEntries(
        Object.entries(parameters).map(([name, { shape }]) => [name, (shape as number[]).join()]),
      );
    expect(shapes(dense(4, 5).init(key(0)))).toEqual({ kernel: "4,5", bias: "5" });
    expect(shapes(embedding(7, 4).init(key(0)))).toEqual({ table: "7,4" });
    expect(shapes(layerNorm(5).init(key(0)))).toEqual({ scale: "5", bias: "5" });
    expect(shapes(gru(4, 2).init(key(0)))).toEqual({
      input: "4,6",
      recurrent: "2,6",
      bias: "6",
      recurrentBias: "2",
    });
    expect(shapes(convolution(4, 6, 3, { groups: 2 }).init(key(0)))).toEqual({
      kernel: "6,2,3,3",
      bias: "6",
    });
    expect(shapes(convolution(4, 6, [5], { bias: false }).init(key(0)))).toEqual({ kernel: "6,4,5" });
    expect(shapes(transposedConvolution(4, 6, [2, 3], { groups: 2 }).init(key(0)))).toEqual({
      kernel: "4,3,2,3",
      bias: "6",
    });
    const { query, output } = multiHeadAttention(6, 2).init(key(0));
    expect([shapes(query), shapes(output)]).toEqual(
      [query, output].map(() => ({ kernel: "6,6", bias: "6" })),
    );
    expect(query.kernel.data).not.toEqual(output.kernel.data);
    expect(shapes(lstm(4, 2).init(key(0)))).toEqual({ input: "4,8", recurrent: "2,8", bias: "8" });
  });

  it("are the same for the same key, and differ by key and by name", () => {
    expect(dense(4, 4).init(key(1))).toEqual(dense(4, 4).init(key(1)));
    expect(dense(4, 4).init(key(1))).not.toEqual(dense(4, 4).init(key(2)));
    const { input, recurrent } = lstm(4, 4).init(key(1));
    expect(input.data).not.toEqual(recurrent.data);
  });
});

describe("loops and unrolled steps", () => {
  const x = tensor(
    Float32Array.from({ length: 24 }, (_, i) => Math.sin(i)),
    [2, 3, 4],
  );
  const zero = tensor(new Float32Array(6), [3, 2]);
  it.each([false, true])("of an LSTM compute the same bits, reversed: %s", (reverse) => {
    const [loop, steps] = [false, true].map((unroll) => {
      const layer = lstm(4, 2, { unroll, reverse });
      const state = { hidden: zero, cell: zero };
      return run({ weights: layer.init(key(3)), x, state }, (t) => layer.apply(t.weights, t));
    });
    expect(loop).toEqual(steps);
  });
  it.each([false, true])("of a GRU compute the same bits, reversed: %s", (reverse) => {
    const [loop, steps] = [false, true].map((unroll) => {
      const layer = gru(4, 2, { unroll, reverse });
      return run({ weights: layer.init(key(3)), x, hidden: zero }, (t) => layer.apply(t.weights, t));
    });
    expect(loop).toEqual(steps);
  });

  const inputs = { input: [4, 8], recurrent: [2, 8], bias: [8], x: [7, 3, 4], hidden: [3, 2], cell: [3, 2] };
  it("of an LSTM have one product of all inputs before the loop, and one for all gates in it", () => {
    const declared = Object.entries(inputs).map(([name, shape]) => ({
      name,
      role: "batch" as const,
      type: { dtype: "f32" as const, shape },
    }));
    const { graph } = traceInto(declared, (tensors) => {
      const [input, recurrent, bias, x, hidden, cell] = tensors as [
        Tensor, Tensor, Tensor, Tensor, Tensor, Tensor,
      ]; // biome-ignore format: one list
      const state = { hidden, cell };
      return lstm(4, 2).apply({ input, recurrent, bias }, { x, state }, undefined as never);
    });
    const productsOf = ({ nodes }: Graph) =>
      nodes.filter(({ op }) => op === "MatMul" || op === "Gemm").map(({ outputs }) => outputs[0]?.shape);
    const loops = graph.nodes.filter((node) => isNode(node, "Scan"));
    expect(productsOf(graph)).toEqual([[7 * 3, 4 * 2]]);
    expect(loops.map(({ attributes }) => productsOf(attributes.body))).toEqual([[[3, 4 * 2]]]);
  });
});

describe("what layers refuse", () => {
  const x = tensor(new Float32Array(24), [2, 3, 4]);
  const state = { hidden: tensor(new Float32Array(6), [3, 2]), cell: tensor(new Float32Array(6), [3, 2]) };
  const weights = lstm(4, 2).init(key(0));
  it.each<readonly [string, () => unknown, string, string | RegExp]>([
    [
      "an LSTM without time",
      () =>
        run({ weights, x: tensor(new Float32Array(8), [2, 4]), state }, (t) =>
          lstm(4, 2).apply(t.weights, t),
        ),
      "MP_SHAPE_MISMATCH",
      "lstm: takes [time, batch, 4], got [2, 4]",
    ],
    [
      "an LSTM of another input size",
      () => run({ weights, x, state }, (t) => lstm(5, 2).apply(t.weights, t)),
      "MP_SHAPE_MISMATCH",
      "lstm: takes [time, batch, 5], got [2, 3, 4]",
    ],
    [
      "a state of another batch",
      () =>
        run({ weights, x, state: { ...state, cell: tensor(new Float32Array(4), [2, 2]) } }, (t) =>
          lstm(4, 2).apply(t.weights, t),
        ),
      "MP_SHAPE_MISMATCH",
      "lstm: the cell state of a batch of 3 must be [3, 2], got [2, 2]",
    ],
    [
      "labels of another shape",
      () => run({ x, y: tensor(new Int32Array(3)) }, ({ x, y }) => softmaxCrossEntropy(x, y)),
      "MP_SHAPE_MISMATCH",
      "softmaxCrossEntropy: logits [2, 3, 4] take labels [2, 3], got [3]; the order is (logits, labels)",
    ],
    [
      "labels that are one-hot",
      () => run({ x, y: tensor(new Float32Array(24), [2, 3, 4]) }, ({ x, y }) => softmaxCrossEntropy(x, y)),
      "MP_SHAPE_MISMATCH",
      "softmaxCrossEntropy: logits [2, 3, 4] take labels [2, 3], got [2, 3, 4]; labels are class numbers, not one-hot rows: pass argMax(labels)",
    ],
    [
      "logits with the classes second",
      () => run({ x, y: tensor(new Int32Array(8), [2, 4]) }, ({ x, y }) => softmaxCrossEntropy(x, y)),
      "MP_SHAPE_MISMATCH",
      "softmaxCrossEntropy: logits [2, 3, 4] take labels [2, 3], got [2, 4]; classes are the last axis: pass transpose(logits, [0, 2, 1])",
    ],
    [
      "labels that are floats",
      () => run({ x, y: tensor(new Float32Array(6), [2, 3]) }, ({ x, y }) => softmaxCrossEntropy(x, y)),
      "MP_DTYPE_MISMATCH",
      /i32/,
    ],
    [
      "labels that are not there",
      () => run({ x }, ({ x }) => softmaxCrossEntropy(x, undefined as never)),
      "MP_INVALID_ARGUMENT",
      "softmaxCrossEntropy: labels: takes traced tensors, got undefined",
    ],
    [
      "logits with the state of a layer beside them",
      () =>
        run({ x, y: tensor(new Int32Array(6), [2, 3]) }, ({ x, y }) =>
          softmaxCrossEntropy([x, []] as never, y),
        ),
      "MP_INVALID_ARGUMENT",
      /logits: takes traced tensors, got a list that begins with one; .*const \[y, state\] =/,
    ],
    [
      "targets that would be broadcast",
      () => run({ x, y: tensor(new Float32Array(4)) }, ({ x, y }) => meanSquaredError(x, y)),
      "MP_SHAPE_MISMATCH",
      "meanSquaredError: prediction [2, 3, 4] and target [4] differ in shape; reshape one of them",
    ],
    [
      "targets that are host data",
      () => run({ x }, (t) => meanSquaredError(t.x, x as never)),
      "MP_INVALID_ARGUMENT",
      "meanSquaredError: target: takes traced tensors, got host data; wrap it with constant(...)",
    ],
    [
      "inputs of another size",
      () => run({ p: dense(5, 2).init(key(0)), x }, ({ p, x }) => dense(5, 2).apply(p, x)),
      "MP_SHAPE_MISMATCH",
      /MatMul: inner sizes differ, \[2, 3, 4\] by \[5, 2\] \(at .*layers\.test\.ts/,
    ],
    ...(
      [
        [() => dense(0.5, 2), "dense: inputs must be an integer ≥ 1, got 0.5"],
        [() => dense(0, 2), "dense: inputs must be an integer ≥ 1, got 0"],
        [() => dense(2, Number.NaN), "dense: outputs must be an integer ≥ 1, got NaN"],
        [() => embedding(0, 2), "embedding: vocabulary"],
        [() => lstm(2, -1), "lstm: cells"],
        [
          () => convolution(2, 3, 0),
          "convolution: the kernel's size must be an integer ≥ 1, or a list of 1 or 2 or 3, got 0",
        ],
        [() => convolution(2, 3, [1, 1, 1, 1]), "or a list of 1 or 2 or 3, got [1, 1, 1, 1]"],
        [() => convolution(2, 3, 3, { groups: 2 }), "convolution: 2 groups do not divide 3 outputs"],
        [
          () => convolution(2, 3, 3, { strides: 2 } as never),
          'convolution: has no option "strides"; did you mean stride?',
        ],
        [
          () => transposedConvolution(3, 2, 3, { groups: 2 }),
          "transposedConvolution: 2 groups do not divide 3 inputs",
        ],
        [() => dense("2" as never, 3), 'dense: inputs must be an integer ≥ 1, got "2"'],
        [
          () => dense(2, 3, { activation: 1 } as never),
          'dense: has no option "activation"; put the function behind the layer: sequential(dense(2, 3), relu)',
        ],
        [() => dense(2, 3, { kernal: 1 } as never), "did you mean kernel?"],
        [() => embedding(2, 3, { init: 1 } as never), 'embedding: has no option "init"; takes table'],
        [() => lstm(2, 3, { bias: 1 } as never), 'lstm: has no option "bias"; takes kernel'],
        [() => layerNorm(2, { eps: 1 } as never), 'layerNorm: has no option "eps"; did you mean epsilon?'],
        [() => dense(2, 3).init(42 as never), "got 42; a model's init takes one: model.init(key(42))"],
        [() => sequential(dense(2, 3)).init(undefined as never), "foldIn: takes a key such as key(42)"],
        [
          () => sequential(dense(2, 3), "relu" as never),
          'sequential: part 1 must be a layer or a function such as relu, got "relu"',
        ],
        [() => sequential([dense(2, 3)] as never), "got a list; spread it: sequential(...parts)"],
        [() => layerNorm(0), "layerNorm: size"],
        [
          () => layerNorm(4, { epsilon: Number.NaN }),
          "layerNorm: epsilon must be at least 0 and finite, got NaN",
        ],
        [() => layerNorm(4, { epsilon: -1 }), "layerNorm: epsilon must be at least 0 and finite, got -1"],
        [() => layerNorm(4, { epsilon: Number.POSITIVE_INFINITY }), "layerNorm: epsilon"],
      ] as const
    ).map(([make, message]) => [message, make, "MP_INVALID_ARGUMENT", message] as const),
  ])("%s", (_name, make, code, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code }));
  });
});
