/** Ranks that do not do the same find out at once, all of them; ranks that end, end together. */
import { type FitResult, float32, type LossFunction, MpError, type Optimizer, sgd } from "@mp/core";
import { mul, reduceSum } from "@mp/core/ops";
import { settable } from "@mp/core/optim";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat } from "../../expectations.js";
import {
  exactSgd,
  type Fed,
  filled,
  linear,
  type NoModel,
  vector,
  type WeightsOf,
} from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import type { Session } from "../../training/session.js";
import { outcomesOfTwo, together } from "../../training/together.js";

type Training = Session<WeightsOf, Fed, NoModel>["training"];

/** Made again for each run: a backend may overwrite what it is given. */
const common = () => ({
  params: { w: filled([2], 1) },
  loss: linear,
  optimizer: exactSgd(),
  precision: float32(),
});
type Common = {
  readonly params?: WeightsOf;
  readonly loss?: LossFunction<WeightsOf, Fed, NoModel>;
  readonly optimizer?: Optimizer;
  readonly seed?: number;
  readonly accumulate?: number;
};

const batches = (count: number) => Array.from({ length: count }, (_, at) => ({ x: vector(at + 1, -1) }));

/**
 * Both ranks fail, with what rank 1 has or does of its own: with the same error, or rank 1 with its own and rank 0 with
 * one that quotes it.
 */
function mismatchCase(
  behaviour: string,
  {
    ofRank1 = () => ({}),
    play,
  }: {
    readonly ofRank1?: () => Common;
    readonly play: (training: Training, rank: number) => Promise<unknown>;
  },
  message: RegExp,
  own?: RegExp,
): ConformanceCase {
  return scenarioCase<readonly string[]>(
    `ranks/mismatch/${behaviour}`,
    async (backend) => {
      const outcomes = await outcomesOfTwo<WeightsOf, Fed, NoModel, unknown>(
        backend,
        (rank) => ({ ...common(), ...(rank === 1 ? ofRank1() : {}) }),
        ({ training }, rank) => play(training, rank),
      );
      return outcomes.map((outcome) => {
        if ("gave" in outcome) return "nothing";
        return MpError.is(outcome.failed) && outcome.failed.code === "MP_RANK_MISMATCH"
          ? `MP_RANK_MISMATCH ${outcome.failed.message}`
          : String(outcome.failed);
      });
    },
    ([first = "", second = ""]) => {
      expectThat(
        first.startsWith("MP_RANK_MISMATCH ") && message.test(first),
        () => `rank 0 fails with ${first}`,
      );
      if (own === undefined) expectEqual(second, first, "the error of rank 1 beside that of rank 0");
      else expectThat(own.test(second), () => `rank 1 fails with ${second}`);
    },
  );
}

const step = (training: Training): Promise<unknown> => training.step({ x: vector(1, 2) });
const loud: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => mul(reduceSum(mul(w, x)), 2);
const throwing: LossFunction<WeightsOf, Fed, NoModel> = () => {
  throw new Error("the loss has a fault");
};

const mismatches: readonly ConformanceCase[] = [
  mismatchCase(
    "parameters",
    { ofRank1: () => ({ params: { w: vector(1, 2) } }), play: step },
    /rank 1 differs from rank 0 at trainer: master\/w is f32\[2\]/,
  ),
  mismatchCase("seed", { ofRank1: () => ({ seed: 7 }), play: step }, /rank 1 .* seed is 7 instead of 0/),
  mismatchCase(
    "optimizer",
    { ofRank1: () => ({ optimizer: sgd({ learningRate: 0.5 }) }), play: step },
    /rank 1 .* optimizer is sgd\(learningRate 0\.5\) instead of/,
  ),
  mismatchCase(
    "program",
    { ofRank1: () => ({ loss: loud }), play: step },
    /rank 1 differs from rank 0 at step: program is/,
  ),
  mismatchCase(
    "batch-shape",
    {
      play: (training, rank) => training.step({ x: rank === 1 ? vector(1) : vector(1, 2) }),
    },
    /rank 1 differs from rank 0 at step: batch is batch\/x:f32\[1\]/,
  ),
  mismatchCase(
    "one-batch-fewer",
    { play: (training, rank) => training.fit(batches(3 - rank)) },
    /rank 1 is at the end of its data \(pass 0\) where rank 0 makes step 3/,
  ),
  mismatchCase(
    "one-step-fewer",
    { play: (training, rank) => training.fit(batches(3), { steps: 3 - rank }) },
    /rank 1 ends training \(steps\) where rank 0 makes step 3/,
  ),
  mismatchCase(
    "another-call",
    { play: (training, rank) => (rank === 1 ? training.saveBytes() : step(training)) },
    /rank 1 calls saveBytes where rank 0 makes step 1/,
  ),
  mismatchCase(
    "loss-that-fails",
    { ofRank1: () => ({ loss: throwing }), play: step },
    /rank 1 failed: the loss has a fault/,
    /the loss has a fault/,
  ),
  mismatchCase(
    "callback-that-fails",
    {
      play: (training, rank) =>
        training.fit(batches(4), {
          onStep: ({ step: at }) => {
            if (rank === 1 && at === 2) throw new Error("the disk is full");
          },
        }),
    },
    /rank 1 failed: the disk is full/,
    /the disk is full/,
  ),
  mismatchCase(
    "data-that-fails",
    { play: (training, rank) => training.fit(rank === 1 ? breaking() : batches(4)) },
    /rank 1 failed: the file ends early/,
    /the file ends early/,
  ),
];

function* breaking(): Generator<{ x: ReturnType<typeof vector> }> {
  yield* batches(2);
  throw new Error("the file ends early");
}

interface Ended {
  readonly ended: FitResult["ended"] | undefined;
  readonly made: number;
  readonly w: readonly number[];
}

/** One rank ends training, and the other with it, after as many steps. */
function endCase(
  behaviour: string,
  want: Pick<Ended, "ended" | "made">,
  play: (training: Training, rank: number) => Promise<Omit<Ended, "w">>,
): ConformanceCase {
  return scenarioCase<readonly Ended[]>(
    `ranks/end/${behaviour}`,
    (backend) =>
      together<WeightsOf, Fed, NoModel, Ended>(backend, common, async ({ training }, rank) => {
        const ended = await play(training, rank);
        // The run goes on: nothing is left of the end.
        await step(training);
        return { ...ended, w: Array.from((await training.parameters()).w.data) };
      }),
    ([first, second]) => {
      expectEqual(second, first, "rank 1 beside rank 0");
      expectEqual(
        [first?.ended, first?.made],
        [want.ended, want.made],
        "how they ended, and after how many steps",
      );
    },
  );
}

const ends: readonly ConformanceCase[] = [
  endCase("all-of-the-data", { ended: "epochs", made: 6 }, (training) =>
    training.fit(batches(3), { epochs: 2 }),
  ),
  endCase("a-callback-of-one", { ended: "stopped", made: 2 }, (training, rank) =>
    training.fit(batches(5), { onStep: ({ step: at }) => (rank === 1 && at === 2 ? "stop" : undefined) }),
  ),
  endCase("a-signal-of-one", { ended: "aborted", made: 3 }, (training, rank) => {
    const controller = new AbortController();
    return training.fit(batches(5), {
      signal: controller.signal,
      onStep: ({ step: at }) => {
        if (rank === 0 && at === 3) controller.abort();
      },
    });
  }),
  endCase("a-break-of-one", { ended: undefined, made: 2 }, async (training, rank) => {
    let made = 0;
    for await (const _ of training.steps(batches(5))) {
      made++;
      if (rank === 0 && made === 2) break;
    }
    return { ended: undefined, made };
  }),
];

/** Rates that callbacks set are part of what the ranks must agree on. */
const rates: ConformanceCase = scenarioCase<readonly string[]>(
  "ranks/mismatch/rates",
  async (backend) => {
    const outcomes = await outcomesOfTwo<WeightsOf, Fed, NoModel, unknown>(
      backend,
      () => ({ ...common(), optimizer: sgd({ learningRate: settable(0.125) }) }),
      async ({ training }, rank) => {
        await training.setRates({ default: rank === 1 ? 0.25 : 0.5 });
        return training.step({ x: vector(1, 2) });
      },
    );
    return outcomes.map((outcome) => ("gave" in outcome ? "nothing" : String(outcome.failed)));
  },
  ([first = "", second]) => {
    expectThat(
      /rank 1 .* rates is rates\/default 0\.25 instead of rates\/default 0\.5/.test(first),
      () => `rank 0 fails with ${first}`,
    );
    expectEqual(second, first, "the error of rank 1 beside that of rank 0");
  },
);

export const rankAgreementCases: readonly ConformanceCase[] = [...mismatches, rates, ...ends];
