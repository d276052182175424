// Compares a model without its head with tfjs's own model of the same layers.
import { float32, predictor } from "@mp/core";
import { type HostTensor, isHostTensor, leavesOf, tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import * as tf from "@tensorflow/tfjs";
import { expect, it } from "vitest";
import { artifactsOf, outputsOf, temporaryFolder, write } from "../test/saved.js";
import type { TfjsModel } from "./index.js";
import { fromTfjs } from "./read/from-tfjs.js";

const { layers } = tf;
const x = tf.randomUniform([3, 4], -1, 1, "float32", 7);
const fed = tensor(Float32Array.from(x.dataSync()), [3, 4]);

async function cut(theirs: tf.LayersModel, outputs: readonly string[]): Promise<TfjsModel> {
  await using folder = await temporaryFolder();
  // Names the file of the weights as "downloads://" does.
  const artifacts = await artifactsOf(theirs);
  const weightsManifest = [{ paths: ["./weights.bin"], weights: artifacts.weightSpecs }];
  return await fromTfjs(await write(folder.path, artifacts, { weightsManifest }), { outputs });
}

/** The largest difference between the results of these layers here and in TensorFlow.js. */
function difference(model: TfjsModel, theirs: tf.LayersModel, inputs: readonly string[]): number {
  const ours = outputsOf(model, Object.fromEntries(inputs.map((name) => [name, fed])));
  const part = tf.model({
    inputs: theirs.inputs,
    outputs: model.outputs.map((name) => theirs.getLayer(name).output as tf.SymbolicTensor),
  });
  const made = part.predict(theirs.inputs.map(() => x)) as tf.Tensor | tf.Tensor[];
  const wanted = Array.isArray(made) ? made : [made];
  return Math.max(
    ...model.outputs.flatMap((name, at) => {
      const got = ours[name] as unknown as HostTensor;
      return [...(wanted[at] as tf.Tensor).dataSync()].map((value, i) =>
        Math.abs(value - Number(got.data[i])),
      );
    }),
  );
}

const pathsOf = (model: TfjsModel) => leavesOf(model.init(), isHostTensor, "params").map(([path]) => path);

it("a Sequential gives what its inner layers give, without the weights behind them", async () => {
  const theirs = tf.sequential({
    layers: [
      layers.dense({ units: 5, activation: "tanh", inputShape: [4], name: "first" }),
      layers.dense({ units: 3, activation: "relu", name: "features" }),
      layers.dense({ units: 2, activation: "softmax", name: "head" }),
    ],
  });
  const model = await cut(theirs, ["features"]);
  expect(difference(model, theirs, model.inputs)).toBeLessThan(1e-6);
  expect(pathsOf(model)).toEqual(["features/bias", "features/kernel", "first/bias", "first/kernel"]);
  await using serving = await predictor({
    backend: await reference(),
    model,
    params: model.init(),
    precision: float32(),
  });
  expect((await serving.predict(fed)).shape).toEqual([3, 3]);
  const both = await cut(theirs, ["features", "first"]);
  expect(both.outputs).toEqual(["features", "first"]);
  expect(difference(both, theirs, both.inputs)).toBeLessThan(1e-6);
});

it("a functional model reads only the inputs and layers that the outputs need", async () => {
  const [a, b] = [tf.input({ shape: [4], name: "a" }), tf.input({ shape: [4], name: "b" })];
  const shared = layers.dense({ units: 3, name: "shared" });
  const left = layers.dense({ units: 4, name: "left" }).apply(a) as tf.SymbolicTensor;
  const [one, two] = [shared.apply(left), shared.apply(b)].map((made) => made as tf.SymbolicTensor);
  const sum = layers.add({ name: "sum" }).apply([one, two] as tf.SymbolicTensor[]) as tf.SymbolicTensor;
  const head = layers.dense({ units: 2, name: "head" }).apply(sum) as tf.SymbolicTensor;
  const theirs = tf.model({ inputs: [a, b], outputs: head });
  const summed = await cut(theirs, ["sum"]);
  expect(summed.inputs).toEqual(["a", "b"]);
  expect(difference(summed, theirs, ["a", "b"])).toBeLessThan(1e-6);
  const alone = await cut(theirs, ["left"]);
  expect([alone.inputs, pathsOf(alone)]).toEqual([["a"], ["left/bias", "left/kernel"]]);
  expect(outputsOf(alone, { a: fed })["left"]).toBeDefined();
  await expect(cut(theirs, ["shared"])).rejects.toThrow(/"shared" is called 2 times/);
  await expect(cut(theirs, ["haed"])).rejects.toThrow(/no layer "haed"; the last ones are .*"sum", "head"/);
  for (const outputs of [[], ["sum", "sum"], "sum"])
    await expect(cut(theirs, outputs as never)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
});
