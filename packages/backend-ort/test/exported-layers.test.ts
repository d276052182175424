// Every layer of @mp/nn goes out with an open batch, and plain onnxruntime-node runs the file at other sizes.
import { float32, ops, predictor } from "@mp/core";
import { type HostTensor, type Key, key, type Tensor, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import * as nn from "@mp/nn";
import { encodeModel, exportOnnx } from "@mp/onnx";
import * as engine from "onnxruntime-node";
import { expect, it } from "vitest";

type Sequence = { readonly x: Tensor; readonly hidden: Tensor };

/** A recurrent layer over [batch, time, inputs], from zeros. */
const overRows = <P>(layer: {
  readonly init: (key: Key) => P;
  readonly apply: (parameters: nn.Parameters<P>, input: Sequence) => { readonly y: Tensor };
}): nn.Layer<P> => ({
  name: "rows",
  init: layer.init,
  apply: (parameters, x) => {
    const [batch = 0] = x.shape;
    const hidden = ops.expand(ops.literal(0), [batch, 3]);
    return layer.apply(parameters, { x: ops.transpose(x, [1, 0, 2]), hidden }).y;
  },
});

const picture = [4, 6, 6];
const rows = [5, 8];
const lstm = nn.lstm(8, 3);
const both = nn.bidirectional(nn.gru(8, 3));

/** A model for each layer and activation, and the shape of its input without the batch; class numbers where it is i32. */
const LAYERS: Readonly<Record<string, readonly [model: nn.Model, shape: readonly number[], dtype?: "i32"]>> =
  {
    averagePooling: [nn.asModel(nn.sequential(nn.averagePooling(2))), picture],
    batchNorm: [nn.asModel(nn.batchNorm(4)), picture],
    bidirectional: [
      nn.asModel(
        overRows({
          init: both.init,
          apply: (parameters, { x, hidden }) =>
            both.apply(parameters, { x, forward: { hidden }, backward: { hidden } }),
        }),
      ),
      rows,
    ],
    convolution: [nn.asModel(nn.convolution(4, 3, 3, { stride: 2 })), picture],
    dense: [nn.asModel(nn.dense(8, 3)), rows],
    dropout: [nn.asModel(nn.sequential(nn.dropout(0.5), nn.dense(8, 2))), rows],
    elu: [nn.asModel(nn.sequential(nn.elu)), rows],
    embedding: [nn.asModel(nn.embedding(9, 4)), [5], "i32"],
    encoderLayer: [nn.asModel(nn.sequential(nn.encoderLayer(8, 2))), rows],
    flatten: [nn.asModel(nn.sequential(nn.flatten, nn.dense(144, 2))), picture],
    gelu: [nn.asModel(nn.sequential(nn.gelu)), rows],
    globalAveragePool: [nn.asModel(nn.sequential(nn.globalAveragePool)), picture],
    globalMaxPool: [nn.asModel(nn.sequential(nn.globalMaxPool)), picture],
    groupNorm: [nn.asModel(nn.groupNorm(2, 4)), picture],
    gru: [nn.asModel(overRows(nn.gru(8, 3))), rows],
    layerNorm: [nn.asModel(nn.layerNorm(8)), rows],
    leakyRelu: [nn.asModel(nn.sequential((x) => nn.leakyRelu(x, 0.1))), rows],
    lstm: [
      nn.asModel(
        overRows({
          init: lstm.init,
          apply: (parameters, { x, hidden }) =>
            lstm.apply(parameters, { x, state: { hidden, cell: hidden } }),
        }),
      ),
      rows,
    ],
    maxPooling: [nn.asModel(nn.sequential(nn.maxPooling(2))), picture],
    multiHeadAttention: [nn.asModel(nn.sequential(nn.multiHeadAttention(8, 2, { isCausal: true }))), rows],
    relu: [nn.asModel(nn.sequential(nn.relu)), rows],
    residual: [nn.asModel(nn.residual(nn.dense(8, 8))), rows],
    rmsNorm: [nn.asModel(nn.rmsNorm(8)), rows],
    sequential: [nn.asModel(nn.sequential(nn.groupNorm(2, 4), nn.relu, nn.convolution(4, 2, 3))), picture],
    sigmoid: [nn.asModel(nn.sequential(nn.sigmoid)), rows],
    silu: [nn.asModel(nn.sequential(nn.silu)), rows],
    softplus: [nn.asModel(nn.sequential(nn.softplus)), rows],
    tanh: [nn.asModel(nn.sequential(nn.tanh)), rows],
    transposedConvolution: [nn.asModel(nn.transposedConvolution(4, 3, 3, { stride: 2 })), picture],
  };

/** Losses, metrics, initializers, and what describes or makes models. */
const NO_LAYERS = [
  "accuracy", "asModel", "binaryCrossEntropyWithLogits", "constantValue", "ctcLoss", "formatSummary", "glorotNormal",
  "glorotUniform", "heNormal", "heUniform", "huber", "lossWeight", "lstmState", "lstmStep", "meanAbsoluteError",
  "meanSquaredError", "normal", "orthogonal", "outputAxis", "sigmoidFocalLoss", "smoothL1", "softmaxCrossEntropy", "summary", "topKAccuracy", "truncatedNormal", "uniform",
]; // biome-ignore format: one list

it("every export is in the table or is no layer", () => {
  expect([...Object.keys(LAYERS), ...NO_LAYERS].sort()).toEqual(Object.keys(nn).sort());
});

const given = (batch: number, shape: readonly number[], dtype?: "i32"): HostTensor => {
  const sizes = [batch, ...shape];
  const length = sizes.reduce((product, size) => product * size, 1);
  const at = (index: number): number => Math.sin(12.9898 * (index + 1 + batch));
  return dtype === "i32"
    ? tensor(
        Int32Array.from({ length }, (_, i) => Math.floor(4 * (at(i) + 1))),
        sizes,
      )
    : tensor(
        Float32Array.from({ length }, (_, i) => at(i)),
        sizes,
      );
};

it.each(Object.entries(LAYERS))("%s, with an open batch", async (_, [model, shape, dtype]) => {
  const params = model.init(key(3));
  const state = model.initState();
  const inputs = { x: { shape: [1, ...shape], dtype: dtype ?? ("f32" as const) } };
  const file = exportOnnx(model, { params, state }, { inputs, dynamicAxes: { x: { 0: "batch" } } });
  const session = await engine.InferenceSession.create(encodeModel(file));
  await using serving = await predictor({
    backend: await reference(),
    model: (parameters: never, { x }: { readonly x: Tensor }, context) =>
      model.apply(parameters, x, { ...context, modelState: context.modelState as never })[0],
    params: params as never,
    modelState: state as never,
    precision: float32(),
  });
  for (const batch of [1, 3, 7]) {
    const x = given(batch, shape, dtype);
    const wanted = (await serving.predict({ x } as never)) as HostTensor;
    const feed = new engine.Tensor(dtype === "i32" ? "int32" : "float32", x.data as Float32Array, x.shape);
    const { output } = await session.run({ x: feed });
    expect(output?.dims).toEqual(wanted.shape);
    const found = output?.data as Float32Array;
    const differences = Array.from(wanted.data as Float32Array, (want, index) =>
      Math.abs((found[index] as number) - want),
    );
    expect(Math.max(...differences), `batch ${batch}`).toBeLessThan(1e-5);
  }
  await session.release();
});
