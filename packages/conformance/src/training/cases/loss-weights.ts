/** Losses with a weight: windows and ranks of any sizes and weights must give the same step as the whole batch. */
import { dynamicLossScale, float32, type LossFunction, type StepResult } from "@mp/core";
import { type Backend, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { div, matMul, mul, reduceSum, sub } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { randomSource } from "../../random-source.js";
import { exactSgd, fill, type NoModel, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { type Session, withTrainer } from "../session.js";
import { together } from "../together.js";

interface Weighted {
  readonly x: Tensor;
  readonly y: Tensor;
  readonly weights: Tensor;
}
type WeightedBatch = { readonly [K in keyof Weighted]: HostTensor<"f32"> };

/** A weighted mean. Loss, gradients and metric are 0 / 0 if all weights are 0. */
const weighted: LossFunction<WeightsOf, Weighted, NoModel> = ({ w }, { x, y, weights }) => {
  const error = sub(matMul(x, w), y);
  const weight = reduceSum(weights);
  const mean = (each: Tensor): Tensor => div(reduceSum(mul(each, weights)), weight);
  return { loss: mean(mul(error, error)), weight, metrics: { error: mean(error) } };
};

type Row = readonly [x: number, y: number, weight: number];
type Window = readonly (readonly Row[])[];

const batchOf = (rows: readonly Row[]): WeightedBatch => {
  const column = (at: 0 | 1 | 2) =>
    tensor(
      Float32Array.from(rows, (row) => row[at]),
      [rows.length, 1],
    );
  return { x: column(0), y: column(1), weights: column(2) };
};

/**
 * Draws windows of four microbatches of 1 or 3 rows. The last two, which are rank 1's, have the sizes of the first two.
 * One in three rows and one in four microbatches has weight 0.
 */
function drawWindows(label: string, count: number): readonly Window[] {
  const random = randomSource(41, label);
  const draw = (isEmpty: boolean): Row => {
    const weight = isEmpty || random.next() < 1 / 3 ? 0 : random.between(0.125, 8);
    return [random.between(-1, 1), random.between(-1, 1), weight];
  };
  return Array.from({ length: count }, () => {
    const sizes = random.next() < 0.5 ? [1, 3] : [3, 1];
    return [...sizes, ...sizes].map((length) => {
      const isEmpty = random.next() < 1 / 4;
      return Array.from({ length }, () => draw(isEmpty));
    });
  });
}

interface Played {
  readonly steps: readonly StepResult[];
  readonly w: number;
}

interface Plays {
  readonly whole: Played;
  readonly window: Played;
  readonly ranks: readonly Played[];
}

const WINDOWS: readonly Window[] = [
  ...drawWindows("windows", 4),
  ...drawWindows("nothing", 1).map((window) => window.map((rows) => rows.map(([x, y]): Row => [x, y, 0]))),
  ...drawWindows("after", 1),
];

/** The batches of a step: parts of a window. */
const play =
  (partsOf: (window: Window) => Window) =>
  async ({ training }: Session<WeightsOf, Weighted, NoModel>): Promise<Played> => {
    const steps: StepResult[] = [];
    for (const window of WINDOWS) steps.push(await training.step(...partsOf(window).map(batchOf)));
    return { steps, w: Number((await training.parameters()).w.data[0]) };
  };

/** A window overflows at the initial scale, since its gradients are multiplied by their weights. */
const options = (accumulate: number) => ({
  params: { w: fill([1, 1], 0.25) },
  loss: weighted,
  optimizer: exactSgd(),
  precision: { ...float32(), lossScaler: dynamicLossScale({ initialScale: 2 ** 126 }) },
  onOverflow: "retry" as const,
  accumulate,
});

/** Compares steps on whole batches, on windows of one process and on windows of two ranks, with the same samples. */
export const lossWeightCases: readonly ConformanceCase[] = [
  scenarioCase<Plays>(
    "accumulate/weight/equals-the-whole-batch",
    async (backend: Backend) => ({
      whole: await withTrainer<WeightsOf, Weighted, NoModel, Played>(
        backend,
        options(1),
        play((window) => [window.flat()]),
      ),
      window: await withTrainer<WeightsOf, Weighted, NoModel, Played>(
        backend,
        options(4),
        play((window) => window),
      ),
      ranks: await together<WeightsOf, Weighted, NoModel, Played>(
        backend,
        () => options(2),
        (session, rank) => play((window) => window.slice(2 * rank, 2 * rank + 2))(session),
      ),
    }),
    ({ whole, window, ranks: [first, second] }) => {
      expectEqual(second, first, "rank 1 beside rank 0");
      for (const [what, { steps, w }] of Object.entries({
        "the window": window,
        "two ranks": first as Played,
      })) {
        for (const [at, want] of whole.steps.entries()) expectAlike(steps[at], want, `step ${at} of ${what}`);
        expectThat(
          Math.abs(w - whole.w) <= 1e-6,
          () => `${what} ended at the weight ${w}, and the whole batches at ${whole.w}`,
        );
        expectThat((steps[0]?.retries ?? 0) > 0, `the first step of ${what} was not retried`);
      }
    },
  ),
];

function expectAlike(got: StepResult | undefined, want: StepResult, what: string): void {
  for (const name of ["applied", "reason"] as const)
    expectEqual(got?.[name], want[name], `${name} of ${what}`);
  const pairs = [
    [got?.loss, want.loss],
    [got?.weight, want.weight],
    [got?.metrics["error"], want.metrics["error"]],
  ] as const;
  for (const [one = Number.NaN, other = Number.NaN] of pairs)
    expectThat(
      Object.is(one, other) || Math.abs(one - other) <= 1e-6 * Math.max(1, Math.abs(other)),
      () => `${what} reports ${one}, and the whole batch ${other}`,
    );
}
