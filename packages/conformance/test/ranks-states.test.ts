/** Tests that a divided optimizer with states in few bits has the same bits, also after a skip or a resumption. */
import { adamW, float32, type PrecisionReport, type TrainerOptions } from "@mp/core";
import { tensor } from "@mp/graph";
import { matMul, mul, reduceMean, sub, tanh } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import type { Fed, NoModel } from "../src/training/problems.js";
import { together } from "../src/training/together.js";

const wave = (shape: readonly number[], step: number) => {
  const size = shape.reduce((product, each) => product * each, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, index) => Math.sin(step * (index + 1))),
    shape,
  );
};

/** Two matrices of at least 4 096 elements; the size of one is not a multiple of the block size. */
const params = () => ({ a: wave([60, 70], 0.7), b: wave([70, 64], 1.3) });
type Params = ReturnType<typeof params>;

interface Given {
  readonly states: "bf16" | "f16" | "f8e4m3" | "u8";
  readonly rounding: "nearest" | "stochastic";
}

const FORMATS = ["bf16", "f16", "f8e4m3", "u8"] as const;
const cases: readonly Given[] = FORMATS.flatMap((states) => [
  { states, rounding: "nearest" },
  { states, rounding: "stochastic" },
]);

/** The microbatches of a step. In the second step, the last one of rank 1 is not finite. */
const window = (step: number, rank: number) =>
  [0, 1].map((micro) => {
    const x = wave([4, 60], 0.37 + 7 * step + 2 * micro + rank);
    return step === 1 && rank === 1 && micro === 1 ? { x: tensor(x.data.fill(Number.NaN), x.shape) } : { x };
  });

const optionsOf = (given: Given, shard: boolean) => () =>
  ({
    params: params(),
    loss: ({ a, b }, { x }) => {
      const error = sub(matMul(tanh(matMul(x, mul(a, 0.1))), b), 0.5);
      return reduceMean(mul(error, error));
    },
    optimizer: adamW({ learningRate: 0.01, ...given }),
    precision: float32(),
    accumulate: 2,
    seed: 3,
    onWarning: () => undefined,
    ...(shard ? { shard: "optimizer" } : {}),
  }) as Omit<TrainerOptions<Params, Fed, NoModel>, "backend" | "ranks">;

// One format without scales, and the one whose blocks have them.
it.each<Given>([
  { states: "bf16", rounding: "nearest" },
  { states: "u8", rounding: "stochastic" },
])("states $states of two ranks: the report has the share of the rank that asks", async (given) => {
  const tensorsOf = async (shard: boolean) => {
    const played = await together<Params, Fed, NoModel, PrecisionReport["optimizer"]>(
      await reference(),
      optionsOf(given, shard),
      async ({ training }, rank) => {
        await training.step(...(window(0, rank) as unknown as never[]));
        return (await training.precisionReport(window(0, rank)[0] as never)).optimizer;
      },
    );
    expect(played.map(({ isShare }) => isShare)).toEqual([shard, shard]);
    return played.map(({ tensors }) => tensors);
  };
  const zerosIn = (tensors: PrecisionReport["optimizer"]["tensors"]): number =>
    tensors.reduce((sum, { histogram }) => sum + histogram.zeros, 0);
  const bytesIn = (tensors: PrecisionReport["optimizer"]["tensors"]): number =>
    tensors.reduce((sum, { bytesInF32 }) => sum + bytesInF32, 0);
  const [[whole = []], shares] = [await tensorsOf(false), await tensorsOf(true)];
  for (const share of shares) expect(bytesIn(share)).toBeLessThan(bytesIn(whole));
  expect([bytesIn, zerosIn].map((of) => of(shares.flat()))).toEqual(
    [bytesIn, zerosIn].map((of) => of(whole)),
  );
});

describe.each(cases)("AdamW with states $states, rounded $rounding, on two ranks", (given) => {
  const play = async (shard: boolean, from: number, bytes?: Uint8Array) => {
    const played = await together<
      Params,
      Fed,
      NoModel,
      { applied: boolean[]; half: Uint8Array; end: Uint8Array }
    >(await reference(), optionsOf(given, shard), async ({ training }, rank) => {
      if (bytes !== undefined) await training.loadBytes(bytes);
      const applied: boolean[] = [];
      let half = new Uint8Array();
      for (let step = from; step < 4; step++) {
        if (step === 2) half = await training.saveBytes();
        applied.push((await training.step(...(window(step, rank) as unknown as never[]))).applied);
      }
      return { applied, half, end: await training.saveBytes() };
    });
    return played[0] as (typeof played)[number];
  };

  it("divides, skips and resumes to the same bits", async () => {
    const divided = await play(true, 0);
    expect(divided.applied).toEqual([true, false, true, true]);
    const resumed = await play(true, 2, divided.half);
    expect(resumed.end).toEqual(divided.end);
    const whole = await play(false, 0);
    expect(divided.end).toEqual(whole.end);
  });
});
