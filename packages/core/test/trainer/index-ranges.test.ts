/** Labels and indices out of range are refused before the engine sees them, by value, place and remedy. */

import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import {
  add,
  cast,
  constant,
  expand,
  gather,
  gatherElements,
  matMul,
  range,
  reduceMean,
  reshape,
  softmaxCrossEntropyLoss,
  transpose,
  where,
} from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { afterEach, describe, expect, it } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import { float32 } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import { wave } from "../small-run.js";

type Data = { readonly ids: Tensor; readonly y: Tensor };
type Body = (table: Tensor, data: Data) => Tensor;

const open: { dispose(): Promise<void> }[] = [];
afterEach(() => Promise.all(open.splice(0).map((training) => training.dispose())));

async function run(loss: Body) {
  const training = await trainer({
    backend: await reference(),
    params: { table: wave([7, 3], 0.3) },
    loss: ({ table }: { table: Tensor }, data: Data) => loss(table, data),
    optimizer: sgd({ learningRate: 0.1 }),
    precision: float32(),
  });
  open.push(training);
  return training;
}

const ints = (values: readonly number[], shape: readonly number[] = [values.length]): HostTensor<"i32"> =>
  tensor(Int32Array.from(values), shape);
const ids = ints([0, 6, -7, 3], [2, 2]);
const y = ints([0, 1, 2, 0], [2, 2]);

/** Logits [4, 3] of ids [2, 2]. */
const logits = (table: Tensor, x: Tensor): Tensor => reshape(gather(table, x), [4, 3]);
const entropy: Body = (table, data) =>
  softmaxCrossEntropyLoss(logits(table, data.ids), reshape(transpose(data.y), [-1]));

describe("what is out of range", () => {
  it("is told with its value, its place in the batch and the remedy, by every call", async () => {
    const training = await run(entropy);
    const before = await training.saveBytes();
    const batch = { ids, y: ints([0, 1, 3, 0], [2, 2]) };
    const refused = {
      code: "MP_OUT_OF_RANGE",
      message: expect.stringMatching(
        /^batch\/y: label 3 at \[1, 0\] is outside 0 … 2 of SoftmaxCrossEntropyLoss \(at .*index-ranges\.test\.ts:\d+:\d+\); labels are classes from 0 to 2: give the last layer more outputs, correct the labels, or pass ignoreIndex: 3$/,
      ) as string,
      details: { input: "batch/y", value: 3, place: [1, 0], low: 0, high: 2 },
    };
    await expect(training.step(batch)).rejects.toMatchObject(refused);
    await expect(training.evaluate(batch)).rejects.toMatchObject(refused);
    await expect(training.evaluateAll([batch])).rejects.toMatchObject(refused);
    await expect(training.step({ ids: ints([0, 1, 7, 0], [2, 2]), y })).rejects.toMatchObject({
      code: "MP_OUT_OF_RANGE",
      message: expect.stringMatching(
        /^batch\/ids: index 7 at \[1, 0\] is outside -7 … 6 of Gather .*the table has 7 rows: give it more/,
      ) as string,
    });
    expect(await training.saveBytes()).toEqual(before);
    expect((await training.step({ ids, y })).applied).toBe(true);
  });

  it("is found in i64, beside what is ignored, and not in what is computed with", async () => {
    const long = await run((table, data) =>
      softmaxCrossEntropyLoss(logits(table, data.ids), cast(reshape(data.y, [-1]), "i32"), {
        ignoreIndex: -1,
      }),
    );
    const big = (values: readonly bigint[]) => tensor(BigInt64Array.from(values), [2, 2]) as never;
    expect((await long.step({ ids, y: big([0n, -1n, 2n, 1n]) })).applied).toBe(true);
    await expect(long.step({ ids, y: big([0n, -1n, 2n, -2n]) })).rejects.toThrow(
      "batch/y: label -2 at [1, 1] is outside 0 … 2",
    );
    const shifted = await run((table, data) =>
      softmaxCrossEntropyLoss(logits(table, data.ids), reshape(add(data.y, -10), [-1])),
    );
    expect((await shifted.step({ ids, y: ints([10, 11, 12, 10], [2, 2]) })).applied).toBe(true);
    const masked = await run((table, data) =>
      reduceMean(gather(table, where(cast(data.y, "bool"), data.ids, 0))),
    );
    expect(
      (await masked.step({ ids: ints([99, 1, 2, 99], [2, 2]), y: ints([0, 1, 1, 0], [2, 2]) })).applied,
    ).toBe(true);
  });

  it("is found before a run in indices that the model makes itself, such as positions", async () => {
    const positions = (length: number, made: (length: number) => Tensor) =>
      run((table, { ids: x }) => reduceMean(gather(table, expand(made(length), [...x.shape, length]))));
    const makers = {
      range: (length: number) => range(0, length),
      constant: (length: number) => constant(ints(Array.from({ length }, (_, at) => at))),
    };
    for (const [made, index] of [
      [makers.range, 8],
      [makers.constant, 7],
    ] as const) {
      expect((await (await positions(7, made)).step({ ids, y })).applied).toBe(true);
      const refused = (await positions(9, made)).step({ ids, y });
      await expect(refused).rejects.toMatchObject({
        code: "MP_OUT_OF_RANGE",
        message: expect.stringMatching(
          `^Gather: index ${index} is outside -7 … 6 of .*table \\[7, 3\\], axis 0; .*pass shorter sequences \\(at .*index-ranges`,
        ) as string,
      });
    }
    const fromTheEnd = await run((table) => reduceMean(gather(table, range(-7, 7))));
    expect((await fromTheEnd.step({ ids, y })).applied).toBe(true);
  });

  it("is found where elements are gathered, and left to the engine where the data is on it", async () => {
    const taken = await run((table, data) =>
      reduceMean(gatherElements(matMul(table, transpose(table)), data.ids, 1)),
    );
    await expect(taken.step({ ids: ints([0, 1, 2, 8], [2, 2]), y })).rejects.toThrow(
      "batch/ids: index 8 at [1, 1] is outside -7 … 6 of GatherElements",
    );
    const backend = await reference();
    const training = await trainer({
      backend,
      params: { table: wave([7, 3], 0.3) },
      loss: ({ table }: { table: Tensor }, data: { ids: Tensor }) => reduceMean(gather(table, data.ids)),
      optimizer: sgd({ learningRate: 0.1 }),
      precision: float32(),
    });
    open.push(training);
    const handle = await backend.upload(ints([9]));
    await expect(training.step({ ids: handle })).rejects.toThrow(/index 9 is outside axis 0 of 7/);
  });
});
