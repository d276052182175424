// Compares a step of fine-tuning with tfjs's own trainer.

import { sgd, trainer } from "@mp/core";
import { isHostTensor, key, leavesOf, type Tensor, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { asModel, dense, meanSquaredError, sequential } from "@mp/nn";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { artifactsOf, outputsOf, temporaryFolder, write } from "../test/saved.js";
import { fromTfjs } from "./read/from-tfjs.js";

const { layers } = tf;

function classifier(): tf.LayersModel {
  const model = tf.sequential({
    layers: [
      layers.conv2d({ filters: 4, kernelSize: 3, inputShape: [6, 6, 2], activation: "relu", name: "conv" }),
      layers.batchNormalization({ momentum: 0.8, name: "bn" }),
      layers.depthwiseConv2d({ kernelSize: 2, activation: "tanh", name: "depth" }),
      layers.reshape({ targetShape: [9, 4], name: "rows" }),
      layers.lstm({ units: 3, recurrentInitializer: "glorotNormal", name: "lstm" }),
      layers.dense({ units: 2, name: "head" }),
    ],
  });
  const values = model.weights.map(({ shape, name }, at) => {
    const isVariance = name.includes("variance");
    return tf.randomUniform(
      shape as number[],
      isVariance ? 0.5 : -0.7,
      isVariance ? 1.5 : 0.7,
      "float32",
      at + 1,
    );
  });
  model.setWeights(values);
  return model;
}

const batch = {
  x: tf.randomUniform([4, 6, 6, 2], -1, 1, "float32", 5),
  y: tf.randomUniform([4, 2], -1, 1, "float32", 6),
};
const host = (x: tf.Tensor) => tensor(Float32Array.from(x.dataSync()), x.shape);
const fed = { x: host(batch.x), y: host(batch.y) };

describe("fine-tuning", () => {
  it("three steps give the loss, the weights and the moving statistics of tfjs", async () => {
    const theirs = classifier();
    await using folder = await temporaryFolder();
    const model = await fromTfjs(await write(folder.path, await artifactsOf(theirs)));
    theirs.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
    await using training = await trainer({
      backend: await reference(),
      params: model.init(),
      modelState: model.initState(),
      loss: (params, { x, y }: { x: Tensor; y: Tensor }, context) => {
        const [output, modelState] = model.apply(params, x, context);
        return { loss: meanSquaredError(output, y), modelState };
      },
      optimizer: sgd({ learningRate: 0.1 }),
    });
    for (let step = 0; step < 3; step++) {
      const want = Number(await theirs.trainOnBatch(batch.x, batch.y));
      const { loss } = await training.step(fed);
      expect(Math.abs(loss - want)).toBeLessThan(1e-5);
    }
    const after = new Map([
      ...leavesOf(await training.parameters(), isHostTensor, "params"),
      ...leavesOf(await training.modelState(), isHostTensor, "state"),
    ]);
    expect([...after.keys()].sort()).toEqual(theirs.weights.map(({ originalName }) => originalName).sort());
    for (const weight of theirs.weights) {
      const got = after.get(weight.originalName)?.data ?? [];
      for (const [at, value] of weight.read().dataSync().entries())
        expect(Math.abs(value - Number(got[at]))).toBeLessThan(1e-5);
    }
  });

  it("trains a head behind the model, whose layers are frozen", async () => {
    await using folder = await temporaryFolder();
    const body = await fromTfjs(await write(folder.path, await artifactsOf(classifier())));
    const head = dense(2, 2);
    const params = { body: body.init(), head: head.init(key(1)) };
    await using training = await trainer({
      backend: await reference(),
      params,
      modelState: body.initState(),
      frozen: { body: true },
      loss: (tree, { x, y }: { x: Tensor; y: Tensor }, context) => {
        const [features, modelState] = body.apply(tree.body, x, context);
        return { loss: meanSquaredError(head.apply(tree.head, features), y), modelState };
      },
      optimizer: sgd({ learningRate: 0.1 }),
    });
    await training.step(fed);
    const after = await training.parameters();
    expect(after.body).toEqual(params.body);
    expect(after.head.kernel.data).not.toEqual(params.head.kernel.data);
  });

  it("is a layer of sequential, and tells what the file froze", async () => {
    const theirs = classifier();
    const [conv] = theirs.layers;
    if (conv !== undefined) conv.trainable = false;
    await using folder = await temporaryFolder();
    const body = await fromTfjs(await write(folder.path, await artifactsOf(theirs)));
    expect(body.frozen).toEqual(["conv/kernel", "conv/bias"]);
    const model = asModel(sequential(body, dense(2, 3)));
    expect(leavesOf(model.initState(), isHostTensor, "state").map(([path]) => path)).toEqual([
      "0/bn/moving_mean",
      "0/bn/moving_variance",
    ]);
  });

  it("drops in training alone, other elements in each layer", async () => {
    const theirs = tf.sequential({
      layers: [layers.dropout({ rate: 0.5, inputShape: [400] }), layers.dropout({ rate: 0.5 })],
    });
    await using folder = await temporaryFolder();
    const model = await fromTfjs(await write(folder.path, await artifactsOf(theirs)));
    const x = { [model.inputs[0] ?? ""]: tensor(new Float32Array(400).fill(1), [1, 400]) };
    const [evaluated] = Object.values(outputsOf(model, x));
    expect(new Set(evaluated?.data as Iterable<number>)).toEqual(new Set([1]));
    const [trained] = Object.values(outputsOf(model, x, { training: true }));
    const values = Array.from(trained?.data as Iterable<number>);
    expect(new Set(values)).toEqual(new Set([0, 4]));
    const share = values.filter((value) => value === 4).length / 400;
    expect(Math.abs(share - 0.25)).toBeLessThan(0.1);
  });
});
