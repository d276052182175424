/** Losses with a weight on two ranks: with a divided update, with averaged model state, and where ranks are unlike. */
import { float32, momentum, type TrainerOptions, trainer } from "@mp/core";
import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, div, matMul, mul, reduceSum, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { inProcessRanks } from "../src/index.js";

interface Batch {
  readonly x: Tensor;
  readonly weights: Tensor;
}
type Params = { readonly w: HostTensor<"f32"> };
type State = { readonly mean: HostTensor<"f32"> };
type Options = Partial<TrainerOptions<Params, Batch, State>>;

const column = (values: readonly number[]) => tensor(Float32Array.from(values), [values.length, 1]);
const batch = (x: readonly number[], weights: readonly number[]) => ({
  x: column(x),
  weights: column(weights),
});

async function start(options: Options) {
  return trainer<Params, Batch, State>({
    backend: await reference(),
    params: { w: tensor(Float32Array.of(0.5, -0.25, 1), [1, 3]) },
    modelState: { mean: tensor(Float32Array.of(0), []) },
    loss: ({ w }, { x, weights }, { modelState }) => {
      const error = sub(matMul(x, w), 1);
      const weight = reduceSum(weights);
      const mean = div(reduceSum(mul(mul(error, error), weights)), weight);
      return { loss: mean, weight, modelState: { mean: add(modelState.mean, div(reduceSum(x), weight)) } };
    },
    optimizer: momentum({ learningRate: 0.1 }),
    precision: float32(),
    onWarning: () => undefined,
    ...options,
  });
}

/** The steps that ranks 0 and 1 make of their windows, and what they end with. */
const steps: readonly (readonly (readonly ReturnType<typeof batch>[])[])[] = [
  [
    [batch([1, 2], [1, 3]), batch([3, 4], [0, 0])],
    [batch([0.5, 1], [0, 2]), batch([2, -1], [1, 1])],
  ],
  // Nothing counts on rank 0.
  [
    [batch([1, 2], [0, 0]), batch([3, 4], [0, 0])],
    [batch([0.5, 1], [0.5, 2]), batch([2, -1], [0, 0])],
  ],
];

async function ofRanks(options: Options) {
  return Promise.all(
    inProcessRanks(2).map(async (ranks) => {
      const training = await start({ ...options, accumulate: 2, ranks });
      const made = [];
      for (const windows of steps) made.push(await training.step(...(windows[ranks.rank] ?? [])));
      const { w } = await training.parameters();
      const { mean } = await training.modelState();
      return { made, w: Array.from(w.data), mean: mean.data[0] };
    }),
  );
}

describe("losses with a weight on two ranks", () => {
  it.each<readonly [string, Options]>([
    ["as they are", {}],
    ["with clipping", { clipNorm: 0.5 }],
    ["with a divided update", { shard: "optimizer" }],
    ["with a divided update and clipping", { shard: "optimizer", clipNorm: 0.5 }],
  ])("make the steps of one process %s", async (_what, options) => {
    const { shard: _, ...alone } = options;
    const one = await start({ ...alone, accumulate: 4 });
    const want = [];
    for (const windows of steps) want.push(await one.step(...windows.flat()));
    const { w } = await one.parameters();
    const [first, second] = await ofRanks(options);
    expect(second?.made).toEqual(first?.made);
    for (const [at, result] of want.entries()) {
      expect(first?.made[at]).toMatchObject({ applied: true, weight: result.weight });
      expect(first?.made[at]?.loss).toBeCloseTo(result.loss, 6);
      expect(first?.made[at]?.gradNorm).toBeCloseTo(result.gradNorm, 5);
    }
    for (const rank of [first, second])
      for (const [at, value] of w.data.entries()) expect(rank?.w[at]).toBeCloseTo(value, 6);
  });

  it("leave the model state of a rank alone where nothing counts on it", async () => {
    const [first, second] = await ofRanks({});
    expect(first?.mean).toBeCloseTo(3 / 4, 6);
    expect(second?.mean).toBeCloseTo(1.5 / 2 + 1 / 2 + 1.5 / 2.5, 6);
    const means = (await ofRanks({ averageModelState: true })).map(({ mean }) => mean);
    expect(means[0]).toBeCloseTo(((first?.mean ?? 0) + (second?.mean ?? 0)) / 2, 6);
    expect(means[1]).toBe(means[0]);
  });

  it("are refused where only one rank's loss has a weight", async () => {
    const outcomes = await Promise.allSettled(
      inProcessRanks(2).map(async (ranks) => {
        const plain: Options = { loss: ({ w }, { x }) => reduceSum(matMul(x, w)) };
        const training = await start({ ranks, ...(ranks.rank === 0 ? {} : plain) });
        return training.step(batch([1], [1]));
      }),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "MP_RANK_MISMATCH" } });
  });
});
