// The norm is that of the unscaled gradients, at any scale that the scaled ones themselves survive.

import { type HostTensor, tensor } from "@mp/graph";
import { literal, mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { chain } from "../../src/optim/chain.js";
import { clipByGlobalNorm } from "../../src/optim/clip.js";
import { sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale, type LossScaler, staticLossScale } from "../../src/precision/loss-scaler.js";
import { float32 } from "../../src/precision/presets.js";
import type { TrainerOptions } from "../../src/train/options.js";
import { trainer } from "../../src/train/trainer.js";

const ones = (): HostTensor<"f32"> => tensor(Float32Array.of(1, 1));
/** The gradient of w · x is x. */
const batch = { x: tensor(Float32Array.of(0.6, 0.8)) };
type Options = Partial<
  Pick<TrainerOptions<{ w: HostTensor<"f32"> }, never, never>, "clipNorm" | "accumulate">
>;

const trainingAt = async (scaler: LossScaler, options: Options = {}) =>
  trainer({
    backend: await reference(),
    params: { w: ones() },
    loss: ({ w }, { x }) => reduceSum(mul(w, x)),
    optimizer: sgd({ learningRate: 0.25 }),
    precision: { ...float32(), lossScaler: scaler },
    ...options,
  });

async function stepAt(scaler: LossScaler, options: Options = {}) {
  const { accumulate = 1 } = options;
  const training = await trainingAt(scaler, options);
  const { applied, gradNorm } = await training.step(...Array.from({ length: accumulate }, () => batch));
  const { w } = await training.parameters();
  return { applied, gradNorm, moved: [...w.data].map((now) => Math.fround(1 - now)) };
}

const custom: LossScaler = {
  name: "custom",
  init: () => ({}),
  scale: () => literal(2 ** 90),
  update: (state) => state,
};
const scalers: readonly (readonly [string, LossScaler])[] = [
  ["2^-125", staticLossScale(2 ** -125)],
  ["2^-80", staticLossScale(2 ** -80)],
  ["2^-20", staticLossScale(2 ** -20)],
  ["2^24, the usual cap", staticLossScale(2 ** 24)],
  ["2^63", staticLossScale(2 ** 63)],
  ["2^100", staticLossScale(2 ** 100)],
  ["2^126, the largest", staticLossScale(2 ** 126)],
  ["2^100 and dynamic", dynamicLossScale({ initialScale: 2 ** 100 }) as unknown as LossScaler],
  ["2^90 of one's own", custom],
];

describe("the norm of the gradients", () => {
  it.each(scalers)("at a scale of %s is what it is at 1, and so is the step", async (_, scaler) => {
    for (const options of [{}, { clipNorm: 0.5 }, { accumulate: 2 }, { accumulate: 2, clipNorm: 0.5 }]) {
      const plain = await stepAt(staticLossScale(1), options);
      expect(plain.gradNorm).toBeCloseTo(1, 6);
      expect(plain.moved[0]).toBeCloseTo(options.clipNorm === undefined ? 0.15 : 0.075, 6);
      // Twice the largest overflows, and is skipped.
      if (scaler.maxScale === 2 ** 126 && "accumulate" in options) continue;
      expect(await stepAt(scaler, options)).toEqual({ ...plain, applied: true });
    }
  });

  it("costs no pass over the gradients more at the scales that training meets", async () => {
    const count = async (scaler: LossScaler, clipNorm?: number): Promise<number> => {
      const training = await trainingAt(scaler, clipNorm === undefined ? {} : { clipNorm });
      const { nodes } = training.graph(batch);
      return nodes.filter(({ origin, outputs }) => origin.phase === "update" && outputs[0]?.shape[0] === 2)
        .length;
    };
    const usual = dynamicLossScale() as unknown as LossScaler;
    const large = dynamicLossScale({ maxScale: 2 ** 100 }) as unknown as LossScaler;
    const small = dynamicLossScale({ minScale: 0.5 }) as unknown as LossScaler;
    expect(await count(usual, 1)).toBe(await count(usual));
    expect(await count(large)).toBe(await count(usual));
    expect(await count(large, 1)).toBe((await count(usual, 1)) + 1);
    expect(await count(small, 1)).toBe((await count(usual, 1)) + 1);
    expect(await count(float32().lossScaler)).toBeLessThan(await count(usual));
  });

  it.each([
    ["the trainer's clipNorm", { clipNorm: 1, optimizer: sgd({ learningRate: 0.25 }) }],
    ["clipByGlobalNorm", { optimizer: chain(clipByGlobalNorm(1), sgd({ learningRate: 0.25 })) }],
    [
      "clipByGlobalNorm without the check of new parameters",
      { optimizer: chain(clipByGlobalNorm(1), sgd({ learningRate: 0.25 })), checkNewParameters: false },
    ],
  ])("that overflows f32 skips the step under %s", async (_, options) => {
    const training = await trainer({
      backend: await reference(),
      params: { w: ones() },
      loss: ({ w }, { x }) => reduceSum(mul(w, x)),
      precision: float32(),
      ...options,
    });
    const large = { x: tensor(Float32Array.of(1e25, 1)) };
    expect(await training.step(large)).toMatchObject({ applied: false, gradNorm: Number.POSITIVE_INFINITY });
    expect(await training.diagnose([large])).toMatchObject({ phase: "update" });
    expect(await training.step(batch)).toMatchObject({ applied: true });
  });
});
