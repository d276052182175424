import type { Tensor } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { encodeModel, exportOnnx } from "@mp/onnx";
import { afterAll, beforeAll, expect, it } from "vitest";
import { batchOf, classifier, model, stepsOf, train } from "../train.js";
import { type OpenPage, openPage } from "./open-page.js";

let opened: OpenPage;

beforeAll(async () => {
  opened = await openPage("training", "worker");
});

afterAll(() => opened?.close());

/** Losses differ by what a sum in another order does, which training makes larger. */
const DECIMALS = 3;

function expectClose(losses: readonly number[], expected: readonly number[]): void {
  expect(losses).toHaveLength(expected.length);
  for (const [step, loss] of losses.entries())
    expect(loss, `step ${step}`).toBeCloseTo(expected[step] as number, DECIMALS);
}

it("a page trains in float32 as the reference does, and leaves nothing on the GPU", async () => {
  const { losses, left } = await opened.page.evaluate(() => globalThis.trainHere("float32"));
  expectClose(losses, (await train(await reference(), "float32")).losses);
  expect(left).toEqual({ live: 0, bytes: 0 });
  expect(opened.complaints).toEqual([]);
});

it("a worker trains with the same bits as the page", async () => {
  const here = await opened.page.evaluate(() => globalThis.trainHere("float32"));
  expect(await opened.page.evaluate(() => globalThis.trainInWorker("float32"))).toEqual(here);
});

it("a checkpoint of the page is resumed in Node", async () => {
  const saved = await opened.page.evaluate(() => globalThis.saveHere(8, 20));
  const training = await classifier(await reference(), "float32");
  await training.loadBytes(Uint8Array.from(saved.bytes));
  expect((await training.counters()).iteration).toBe(8);
  expectClose(await stepsOf(training, 8, 20), saved.losses);
});

it("a model that exportOnnx wrote gives in the page what the layers give in Node", async () => {
  const training = await classifier(await reference(), "float32");
  await stepsOf(training, 0, 5);
  const params = await training.parameters();
  const bytes = encodeModel(exportOnnx(model, { params }, { inputs: { x: { shape: [64, 2] } } }));
  const { x } = batchOf(9);
  const given = { data: [...(x.data as Float32Array)], shape: [...x.shape] };
  const got = await opened.page.evaluate(([file, value]) => globalThis.runModel(file, value), [
    [...bytes],
    given,
  ] as const);
  const { data: want } = await training.predict(
    (weights, data: Tensor, context) => model.apply(weights, data, context),
    x,
  );
  expect(got).toHaveLength(128);
  for (const [index, number] of got.entries())
    expect(number, `element ${index}`).toBeCloseTo(want[index] as number, 5);
});
