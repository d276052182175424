import { tensor } from "@mp/graph";
import { matMul, mul, reduceMean, relu, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { expect, it } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import { kahan, noMasterWeights, stochasticRounding } from "../../src/precision/master-weights.js";
import { float32, mixedBfloat16, type Precision } from "../../src/precision/presets.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { trainer } from "../../src/train/trainer.js";

/** Gradients of w are 1, those of idle 0; a rate is the update. */
async function run(learningRate: number, precision: Precision, checkUpdates?: number) {
  const warnings: TrainingWarning[] = [];
  const training = await trainer({
    backend: await reference(),
    params: { w: tensor(Float32Array.of(1, 1, 4, 0), [4, 1]), idle: tensor(Float32Array.of(1), []) },
    loss: ({ w, idle }, { x }) => sub(reduceMean(matMul(x, w)), mul(relu(mul(idle, -1)), 1)),
    optimizer: sgd({ learningRate }),
    precision,
    onWarning: (warning) => warnings.push(warning),
    ...(checkUpdates === undefined ? {} : { checkUpdates }),
  });
  return { training, warnings: () => warnings.filter(({ type }) => type === "numerics") };
}
const batch = { x: tensor(Float32Array.of(1, 1, 1, 1), [1, 4]) };

it("counts at one applied step in so many, and changes no step", async () => {
  const [checked, plain] = [await run(0.25, float32(), 3), await run(0.25, float32())];
  const seen: boolean[] = [];
  for (let step = 0; step < 7; step++) {
    const { updates, ...rest } = await checked.training.step(batch);
    seen.push(updates !== undefined);
    expect(rest).toEqual(await plain.training.step(batch));
  }
  expect(seen).toEqual([true, false, false, true, false, false, true]);
  expect(checked.training.graph(batch)).toEqual(plain.training.graph(batch));
  expect(checked.warnings()).toEqual([]);
  const { updates } = await checked.training.precisionReport(batch);
  expect(updates).toEqual([
    { parameter: "idle", gradients: 0, updates: 0, lost: 0 },
    { parameter: "w", gradients: 4, updates: 4, lost: 0 },
  ]);
});

it("counts the updates that are lost, and warns of them once", async () => {
  // bf16 has 8 digits: 2^-9 is half of the last one of 1, and lost from 1 and from 4, but not from 0.
  const half = { ...mixedBfloat16(), masterWeights: noMasterWeights("bf16") };
  const { training, warnings } = await run(2 ** -10, half, 1);
  for (let step = 0; step < 3; step++)
    expect((await training.step(batch)).updates?.[1]).toEqual({
      parameter: "w",
      gradients: 4,
      updates: 4,
      lost: 3,
    });
  expect(warnings()).toMatchObject([{ message: expect.stringContaining("more than 25 %") as string }]);
  expect(await training.diagnose([batch])).toMatchObject({
    cause: "lost updates",
    remedies: [{ option: "masterWeights", value: "f32" }],
  });
  for (const masterWeights of [kahan("bf16"), stochasticRounding()]) {
    const kept = await run(2 ** -10, { ...mixedBfloat16(), masterWeights }, 1);
    expect((await kept.training.step(batch)).updates?.[1]).toMatchObject({ updates: 4, lost: 0 });
    expect(kept.warnings()).toEqual([]);
  }
});
