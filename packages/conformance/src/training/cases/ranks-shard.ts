/** Two ranks that shard the optimizer make the same steps and write the same checkpoints as two ranks that do not. */
import {
  adamW,
  dynamicLossScale,
  float32,
  type LossFunction,
  mixedBfloat16,
  mixedFloat16,
  momentum,
  type StepResult,
  sgd,
  type TrainerOptions,
} from "@mp/core";
import { adafactor, lamb } from "@mp/core/optim";
import { type Backend, type HostTensor, isHostTensor, leavesOf } from "@mp/graph";
import { mul, reduceMean, reduceSum } from "@mp/graph/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import { perceptron } from "../models.js";
import { exactSgd, type Fed, fill, type NoModel, vector, type WeightsOf } from "../problems.js";
import { scenarioCase } from "../scenario.js";
import { together } from "../together.js";

type Params = ReturnType<typeof perceptron.params>;
type Options = Pick<
  TrainerOptions<unknown, unknown, unknown>,
  "optimizer" | "precision" | "clipNorm" | "accumulate" | "checkNewParameters"
>;

const BEFORE = 3;
const AFTER = 2;

/**
 * The history of one rank: steps, a checkpoint between them, the final parameters, and the size of its optimizer
 * state.
 */
interface Played {
  readonly steps: readonly StepResult[];
  readonly bytes: Uint8Array;
  readonly parameters: Params;
  readonly moments: number;
}

interface Compared {
  readonly whole: readonly Played[];
  readonly divided: readonly Played[];
  /** Steps of each pair of ranks after loading the other pair's checkpoint. */
  readonly resumed: readonly (readonly StepResult[])[];
}

/** Compares steps with and without `shard`, also when each resumes from the other's checkpoint. */
function shardCase(behaviour: string, given: () => Options): ConformanceCase {
  const options = (shard: boolean) => () =>
    ({
      params: perceptron.params(),
      modelState: perceptron.modelState(),
      loss: perceptron.loss,
      seed: 3,
      ...given(),
      ...(shard ? { shard: "optimizer" as const } : {}),
    }) as Omit<TrainerOptions<Params, never, object>, "backend" | "ranks">;
  const { accumulate = 1 } = given();
  const window = (step: number, rank: number) =>
    Array.from({ length: accumulate }, (_, micro) =>
      perceptron.batch(7 * step + 2 * micro + rank),
    ) as never[];
  const play = (backend: Backend, shard: boolean) =>
    together<Params, never, object, Played>(backend, options(shard), async ({ training, state }, rank) => {
      const steps: StepResult[] = [];
      for (let step = 0; step < BEFORE; step++) steps.push(await training.step(...window(step, rank)));
      const bytes = await training.saveBytes();
      for (let step = 0; step < AFTER; step++)
        steps.push(await training.step(...window(BEFORE + step, rank)));
      const moments = Object.entries(state.types)
        .filter(([slot]) => slot.startsWith("optimizer/"))
        .reduce((sum, [, { shape }]) => sum + shape.reduce((product, size) => product * size, 1), 0);
      return { steps, bytes, parameters: (await training.parameters()) as Params, moments };
    });
  const resume = (backend: Backend, shard: boolean, bytes: Uint8Array) =>
    together<Params, never, object, readonly StepResult[]>(
      backend,
      options(shard),
      async ({ training }, rank) => {
        await training.loadBytes(bytes);
        const steps: StepResult[] = [];
        for (let step = 0; step < AFTER; step++)
          steps.push(await training.step(...window(BEFORE + step, rank)));
        return steps;
      },
    );
  return scenarioCase<Compared>(
    `ranks/shard/${behaviour}`,
    async (backend) => {
      const whole = await play(backend, false);
      const divided = await play(backend, true);
      const [wholeBytes, dividedBytes] = [whole[0]?.bytes, divided[1]?.bytes] as [Uint8Array, Uint8Array];
      const resumed = [
        ...(await resume(backend, true, wholeBytes)),
        ...(await resume(backend, false, dividedBytes)),
      ];
      return { whole, divided, resumed };
    },
    ({ whole, divided, resumed }) => {
      const [first, second] = divided as readonly [Played, Played];
      expectEqual(second.steps, first.steps, "the steps of rank 1 beside those of rank 0");
      expectNear(first.steps, whole[0]?.steps ?? [], "a divided run");
      for (const steps of resumed) expectNear(steps, (whole[0]?.steps ?? []).slice(BEFORE), "a resumed run");
      expectEqual(first.bytes.length, whole[0]?.bytes.length, "the size of a divided run's checkpoint");
      for (const { parameters } of divided)
        expectNearValues(parameters, whole[0]?.parameters as Params, "the parameters of a divided run");
      const all = whole[0]?.moments ?? 0;
      expectThat(
        first.moments < 0.7 * all &&
          second.moments < 0.7 * all &&
          first.moments + second.moments <= 1.1 * all,
        () => `of ${all} numbers of optimizer state the ranks keep ${first.moments} and ${second.moments}`,
      );
    },
  );
}

/** Allowed relative difference, because an engine may round an element differently at the end of a vector. */
const TOLERANCE = 1e-5;
const isNear = (got: number, want: number): boolean =>
  Object.is(got, want) || Math.abs(got - want) <= TOLERANCE * Math.max(1, Math.abs(want));

function expectNear(got: readonly StepResult[], want: readonly StepResult[], what: string): void {
  expectEqual(got.length, want.length, `the number of steps of ${what}`);
  for (const [at, { loss, gradNorm, ...rest }] of want.entries()) {
    const { loss: ownLoss, gradNorm: ownNorm, ...own } = got[at] as StepResult;
    expectEqual(own, rest, `step ${at} of ${what}`);
    expectThat(
      isNear(ownLoss, loss) && isNear(ownNorm, gradNorm),
      () => `step ${at} of ${what}: loss ${ownLoss}, norm ${ownNorm} instead of ${loss}, ${gradNorm}`,
    );
  }
}

function expectNearValues(got: Params, want: Params, what: string): void {
  const own = new Map(leavesOf(got, isHostTensor, "got"));
  for (const [path, { data }] of leavesOf(want, isHostTensor, "want")) {
    const values = (own.get(path) as HostTensor<"f32">).data;
    const at = values.findIndex((value, place) => !isNear(value, Number(data[place])));
    expectThat(
      at < 0 && values.length === data.length,
      () => `${what}: ${path} is ${values[at]} at ${at} instead of ${data[at]}`,
    );
  }
}

/** A loss whose gradient is x. The parameters are split in the middle. */
const meanLoss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => reduceMean(reduceSum(mul(w, x)));

const HUGE = 3e38;
const steady = (): Omit<TrainerOptions<WeightsOf, Fed, NoModel>, "backend" | "ranks"> => ({
  params: { w: vector(1, 1, HUGE, 1) },
  loss: meanLoss,
  optimizer: sgd({ learningRate: 1 }),
  precision: float32(),
  shard: "optimizer",
});

const verdicts: readonly ConformanceCase[] = [
  scenarioCase<readonly unknown[]>(
    "ranks/shard/a-new-parameter-of-one-part-that-overflows-is-skipped-by-all",
    (backend) =>
      together<WeightsOf, Fed, NoModel, unknown>(backend, steady, async ({ training }) => {
        const over = await training.step({ x: vector(1, 1, -HUGE, 1) });
        const fits = await training.step({ x: vector(0.5, 1, 0, 0.25) });
        return [over.applied, fits.applied, Array.from((await training.parameters()).w.data)];
      }),
    (got) => {
      const kept = Math.fround(HUGE);
      for (const rank of got) expectEqual(rank, [false, true, [0.5, 0, kept, 0.75]], "the steps of a rank");
    },
  ),
  scenarioCase<readonly unknown[]>(
    "ranks/shard/an-overflow-of-one-rank-is-retried-by-all",
    (backend) =>
      together<WeightsOf, Fed, NoModel, unknown>(
        backend,
        () => ({
          ...steady(),
          params: { w: fill([4], 0) },
          optimizer: exactSgd(),
          precision: { ...float32(), lossScaler: dynamicLossScale({ initialScale: 2 ** 10 }) },
          onOverflow: "retry" as const,
        }),
        async ({ training }, rank) => {
          const { applied, retries, scale } = await training.step({
            x: rank === 1 ? vector(2 ** 120, 0, 0, 0) : vector(0, 0, 0, 1),
          });
          return [applied, retries > 0, scale, Array.from((await training.parameters()).w.data)];
        },
      ),
    (got) => {
      expectEqual(got[1], got[0], "rank 1 beside rank 0");
      expectEqual((got[0] as unknown[]).slice(0, 2), [true, true], "applied, after retries");
      const [first, , , last] = (got[0] as [boolean, boolean, number, number[]])[3];
      expectEqual([first, last], [-(2 ** 116), -(2 ** -4)], "the weights after the step");
    },
  ),
];

export const shardCases: readonly ConformanceCase[] = [
  shardCase("adamw-float32", () => ({
    optimizer: adamW({ learningRate: 0.01 }),
    precision: float32(),
  })),
  shardCase("adamw-mixed-float16", () => ({
    optimizer: adamW({ learningRate: 0.01 }),
    precision: mixedFloat16(),
  })),
  shardCase("adamw-mixed-bfloat16-unchecked", () => ({
    optimizer: adamW({ learningRate: 0.01 }),
    precision: mixedBfloat16(),
    checkNewParameters: false,
  })),
  shardCase("momentum-clipped-and-accumulated", () => ({
    optimizer: momentum({ learningRate: 0.1, momentum: 0.5 }),
    precision: float32(),
    clipNorm: 0.1,
    accumulate: 2,
  })),
  shardCase("lamb-by-whole-leaves", () => ({
    optimizer: lamb({ learningRate: 0.01 }),
    precision: float32(),
  })),
  shardCase("adafactor-by-whole-leaves", () => ({
    optimizer: adafactor({ learningRate: 0.01 }),
    precision: float32(),
  })),
  ...verdicts,
];
