// Compares each kind of layer, as saved by tfjs and by Keras 3, with the predictions of tfjs and of Keras.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tensor } from "@mp/graph";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { artifactsOf, outputsOf, temporaryFolder, write } from "../../test/saved.js";
import { LAYERS } from "../layers/layers.js";
import { fromTfjs } from "./from-tfjs.js";

const BATCH = 2;
const seen = new Set<string>();

function collect(json: unknown): void {
  if (typeof json !== "object" || json === null) return;
  const { class_name: name } = json as { class_name?: unknown };
  if (typeof name === "string") seen.add(name);
  for (const child of Object.values(json)) collect(child);
}

/** Sets other weights than the initial ones: zeros would hide a missing bias. */
function randomize(model: tf.LayersModel): void {
  model.setWeights(
    model.weights.map((weight, at) => {
      const { shape } = weight;
      const isVariance = weight.name.includes("variance");
      return tf.randomUniform(
        shape as number[],
        isVariance ? 0.5 : -0.7,
        isVariance ? 1.5 : 0.7,
        "float32",
        at + 1,
      );
    }),
  );
}

interface Checked {
  readonly least?: number;
  readonly most?: number;
  /** A model that gets the weights of the given one, and predicts in its place. */
  readonly by?: tf.LayersModel;
}

async function expectPrediction(
  model: tf.LayersModel,
  { least = -1, most = 1, by = model }: Checked = {},
): Promise<void> {
  randomize(model);
  if (by !== model) by.setWeights(model.getWeights());
  await using folder = await temporaryFolder();
  const artifacts = await artifactsOf(model);
  collect(artifacts.modelTopology);
  const read = await fromTfjs(await write(folder.path, artifacts));
  const given = model.inputs.map(({ shape }, at) => {
    const [, ...sizes] = shape as number[];
    const x = tf.randomUniform([BATCH, ...sizes], least, most, "float32", 77 + at);
    return Number.isInteger(most) && most > 1 ? x.floor() : x;
  });
  const want = [by.predict(given.length === 1 ? (given[0] as tf.Tensor) : given)].flat() as tf.Tensor[];
  const inputs = read.inputs.map((name, at) => {
    const x = given[at] as tf.Tensor;
    return [name, tensor(Float32Array.from(x.dataSync()), x.shape)] as const;
  });
  const got = outputsOf(read, Object.fromEntries(inputs));
  expect(read.outputs.length).toBe(want.length);
  for (const [at, name] of read.outputs.entries()) {
    expect(got[name]?.shape).toEqual(want[at]?.shape);
    const values = want[at]?.dataSync() ?? [];
    const largest = Math.max(
      ...Array.from(values, (value, i) => Math.abs(value - Number(got[name]?.data[i]))),
    );
    expect(largest).toBeLessThan(1e-5);
  }
}

const layers = tf.layers;
const after = (inputShape: readonly number[], ...rest: readonly tf.layers.Layer[]): tf.LayersModel =>
  tf.sequential({ layers: [layers.inputLayer({ inputShape: [...inputShape] }), ...rest] });

const activations = [
  ..."linear relu relu6 elu selu sigmoid hardSigmoid tanh softplus softsign softmax logSoftmax swish mish".split(
    " ",
  ),
];
const CASES: Readonly<Record<string, () => tf.LayersModel>> = {
  ...Object.fromEntries(
    activations.map((activation) => [
      `dense ${activation}`,
      () => after([3], layers.dense({ units: 4, activation: activation as "relu" })),
    ]),
  ),
  "dense without bias, on three axes": () => after([4, 3], layers.dense({ units: 2, useBias: false })),
  activation: () => after([3], layers.activation({ activation: "tanh" })),
  relu: () => after([3], layers.reLU({ maxValue: 0.4 })),
  "leaky relu, prelu, elu": () =>
    after([4, 3], layers.leakyReLU({ alpha: 0.2 }), layers.prelu({ sharedAxes: [1] }), layers.elu()),
  "thresholded relu and softmax": () => after([5], layers.thresholdedReLU({ theta: 0.3 }), layers.softmax()),
  dropouts: () => after([4, 3], layers.dropout({ rate: 0.5 }), layers.spatialDropout1d({ rate: 0.5 })),
  shapes: () =>
    after(
      [2, 6],
      layers.reshape({ targetShape: [3, 4] }),
      layers.permute({ dims: [2, 1] }),
      layers.flatten(),
      layers.repeatVector({ n: 3 }),
    ),
  "images padded, cropped, larger": () =>
    after(
      [4, 5, 2],
      layers.zeroPadding2d({
        padding: [
          [1, 2],
          [0, 1],
        ],
      }),
      layers.cropping2D({
        cropping: [
          [0, 1],
          [2, 1],
        ],
      }),
      layers.upSampling2d({ size: [2, 3] }),
    ),
  conv1d: () =>
    after(
      [7, 3],
      layers.conv1d({ filters: 4, kernelSize: 3, padding: "same", dilationRate: 2, activation: "relu" }),
    ),
  "conv2d, same with strides": () =>
    after([7, 6, 3], layers.conv2d({ filters: 4, kernelSize: [3, 2], padding: "same", strides: 2 })),
  "conv2d, dilated": () => after([7, 6, 3], layers.conv2d({ filters: 2, kernelSize: 2, dilationRate: 2 })),
  conv3d: () => after([4, 4, 4, 2], layers.conv3d({ filters: 3, kernelSize: 2, strides: 1 })),
  depthwise: () =>
    after(
      [6, 6, 2],
      layers.depthwiseConv2d({ kernelSize: 3, depthMultiplier: 2, padding: "same", strides: [2, 2] }),
    ),
  separable: () =>
    after(
      [6, 6, 2],
      layers.separableConv2d({ filters: 3, kernelSize: 3, depthMultiplier: 2, activation: "tanh" }),
    ),
  ...Object.fromEntries(
    (["same", "valid"] as const).flatMap((padding) =>
      [1, 2, 3].map((strides) => [
        `conv2d transposed, ${padding}, stride ${strides}`,
        () => after([4, 3, 2], layers.conv2dTranspose({ filters: 3, kernelSize: [2, 3], strides, padding })),
      ]),
    ),
  ),
  pools: () =>
    after(
      [9, 9, 2],
      layers.maxPooling2d({ poolSize: 2, padding: "same" }),
      layers.averagePooling2d({ poolSize: 3, strides: 2, padding: "same" }),
    ),
  "pools of one axis": () =>
    after([9, 2], layers.maxPooling1d({ poolSize: 2 }), layers.averagePooling1d({ poolSize: 3, strides: 1 })),
  "global pools": () => {
    const x = tf.input({ shape: [4, 5, 2] });
    const y = tf.input({ shape: [4, 2] });
    return tf.model({
      inputs: [x, y],
      outputs: [
        layers.globalAveragePooling2d({ dataFormat: "channelsLast" }).apply(x),
        layers.globalMaxPooling2d({ dataFormat: "channelsLast" }).apply(x),
        layers.globalAveragePooling1d().apply(y),
        layers.globalMaxPooling1d().apply(y),
      ] as tf.SymbolicTensor[],
    });
  },
  "batch normalization": () => after([4, 3], layers.batchNormalization()),
  "layer normalization": () => after([4, 3], layers.layerNormalization()),
  "simple rnn": () => after([5, 3], layers.simpleRNN({ units: 4, recurrentInitializer: "glorotNormal" })),
  lstm: () =>
    after(
      [5, 3],
      layers.lstm({
        units: 4,
        returnSequences: true,
        goBackwards: true,
        recurrentInitializer: "glorotNormal",
      }),
      layers.lstm({
        units: 2,
        recurrentActivation: "sigmoid",
        useBias: false,
        recurrentInitializer: "glorotNormal",
      }),
    ),
  gru: () =>
    after([5, 3], layers.gru({ units: 4, returnSequences: true, recurrentInitializer: "glorotNormal" })),
  states: () => {
    const x = tf.input({ shape: [5, 3] });
    const h = tf.input({ shape: [4] });
    const c = tf.input({ shape: [4] });
    const lstm = layers.lstm({ units: 4, returnState: true, recurrentInitializer: "glorotNormal" });
    const outputs = lstm.apply(x, { initialState: [h, c] }) as tf.SymbolicTensor[];
    return tf.model({ inputs: [x, h, c], outputs });
  },
  ...Object.fromEntries(
    (["concat", "sum", "mul", "ave"] as const).map((mergeMode) => [
      `bidirectional ${mergeMode}`,
      () =>
        after(
          [5, 3],
          layers.bidirectional({
            layer: layers.gru({
              units: 2,
              returnSequences: mergeMode !== "sum",
              recurrentInitializer: "glorotNormal",
            }) as never,
            mergeMode,
          }),
        ),
    ]),
  ),
  "time distributed": () => after([5, 3], layers.timeDistributed({ layer: layers.dense({ units: 2 }) })),
  merges: () => {
    const [a, b] = [tf.input({ shape: [4, 3] }), tf.input({ shape: [4, 3] })];
    const outputs = [
      layers.add(),
      layers.multiply(),
      layers.average(),
      layers.maximum(),
      layers.minimum(),
      layers.concatenate({ axis: 1 }),
      layers.dot({ axes: 2 }),
      layers.dot({ axes: [1, 1], normalize: true }),
    ].map((layer) => layer.apply([a, b]) as tf.SymbolicTensor);
    return tf.model({ inputs: [a, b], outputs });
  },
  "shared layers and nested models": () => {
    const [a, b] = [tf.input({ shape: [4] }), tf.input({ shape: [4] })];
    const shared = layers.dense({ units: 4, activation: "tanh" });
    const input = tf.input({ shape: [4] });
    const inner = tf.model({
      inputs: input,
      outputs: [layers.dense({ units: 3 }).apply(input), shared.apply(input)] as tf.SymbolicTensor[],
    });
    const tail = tf.sequential({
      layers: [layers.dense({ units: 2, inputShape: [4] }), layers.batchNormalization()],
    });
    const [first, second] = inner.apply(shared.apply(a)) as tf.SymbolicTensor[];
    const [third] = inner.apply(b) as tf.SymbolicTensor[];
    const joined = layers.concatenate().apply([first, third] as tf.SymbolicTensor[]);
    return tf.model({
      inputs: [a, b],
      outputs: [
        joined,
        tail.apply(second as tf.SymbolicTensor),
        tail.apply(shared.apply(b)),
      ] as tf.SymbolicTensor[],
    });
  },
};

describe("what tfjs predicts", () => {
  it.each(Object.entries(CASES))("%s", async (_, make) => {
    await expectPrediction(make());
  });

  // The kernel of tfjs's CPU backend applies the statistics of an inner axis to the last axis.
  it("batch normalization of an inner axis", async () => {
    const options = { scale: false, center: false };
    const by = after(
      [4, 3],
      layers.permute({ dims: [2, 1] }),
      layers.batchNormalization(options),
      layers.permute({ dims: [2, 1] }),
    );
    await expectPrediction(after([4, 3], layers.batchNormalization({ ...options, axis: 1 })), { by });
  });

  it("embedding of floats", async () => {
    await expectPrediction(after([5], layers.embedding({ inputDim: 7, outputDim: 3 })), {
      least: 0,
      most: 7,
    });
  });
});

interface KerasCase {
  readonly modelTopology: object;
  readonly weights: readonly object[];
  readonly data: string;
  readonly inputs: readonly { readonly shape: readonly number[]; readonly data: readonly number[] }[];
  readonly outputs: KerasCase["inputs"];
}
const keras: Readonly<Record<string, KerasCase>> = JSON.parse(
  await readFile(new URL("../../test/fixtures/keras-models.json", import.meta.url), "utf8"),
);

describe("what Keras 3 predicts", () => {
  it.each(Object.entries(keras))("%s", async (_, { modelTopology, weights, data, inputs, outputs }) => {
    collect(modelTopology);
    await using folder = await temporaryFolder();
    const path = join(folder.path, "model.json");
    await writeFile(join(folder.path, "group1-shard1of1.bin"), Buffer.from(data, "base64"));
    const weightsManifest = [{ paths: ["group1-shard1of1.bin"], weights }];
    await writeFile(path, JSON.stringify({ format: "layers-model", modelTopology, weightsManifest }));
    const read = await fromTfjs(path);
    const given = inputs.map(({ shape, data: numbers }, at) => [
      read.inputs[at] ?? "",
      tensor(Float32Array.from(numbers), shape),
    ]);
    const got = outputsOf(read, Object.fromEntries(given));
    for (const [at, name] of read.outputs.entries()) {
      const want = outputs[at];
      expect(got[name]?.shape).toEqual(want?.shape);
      for (const [i, value] of want?.data.entries() ?? [])
        expect(Math.abs(value - Number(got[name]?.data[i]))).toBeLessThan(1e-5);
    }
    expect(read.outputs.length).toBe(outputs.length);
  });
});

it("every kind of layer that is read was in one of these models", () => {
  expect(Object.keys(LAYERS).filter((name) => !seen.has(name))).toEqual([]);
});

it("every kind of layer is in the list of the docs", async () => {
  const page = await readFile(new URL("../../../../docs/from-tfjs.md", import.meta.url), "utf8");
  const listed = page.slice(page.indexOf("## What is read"));
  expect(Object.keys(LAYERS).filter((name) => !listed.includes(`\`${name}\``))).toEqual([]);
});
