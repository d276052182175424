/** Tests that ranks that differ all find out at once, and that ranks that end, end together. */
import {
  chain,
  clipByGlobalNorm,
  type FitResult,
  float32,
  kahan,
  type LossFunction,
  type Optimizer,
  sgd,
  type TrainerOptions,
  trainer,
} from "@mp/core";
import { settable } from "@mp/core/optim";
import { MpError } from "@mp/graph";
import { add, mul, reduceMean, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { inProcessRanks } from "../src/in-process-ranks.js";
import {
  exactSgd,
  type Fed,
  fill,
  linear,
  type NoModel,
  vector,
  type WeightsOf,
} from "../src/training/problems.js";
import { type Session, withTrainer } from "../src/training/session.js";
import { type Outcome, outcomesOfTwo, together } from "../src/training/together.js";

type Training = Session<WeightsOf, Fed, NoModel>["training"];

const common = () => ({
  params: { w: fill([2], 1) },
  loss: linear,
  optimizer: exactSgd(),
  precision: float32(),
});
type Common = {
  readonly params?: WeightsOf;
  readonly loss?: LossFunction<WeightsOf, Fed, NoModel>;
  readonly optimizer?: Optimizer;
  readonly seed?: number;
};

interface Case {
  readonly ofRank1?: () => Common;
  readonly play: (training: Training, rank: number) => Promise<unknown>;
}

const batches = (count: number) => Array.from({ length: count }, (_, at) => ({ x: vector(at + 1, -1) }));

const step = (training: Training): Promise<unknown> => training.step({ x: vector(1, 2) });
const loud: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) => mul(reduceSum(mul(w, x)), 2);
const throwing: LossFunction<WeightsOf, Fed, NoModel> = () => {
  throw new Error("the loss has a fault");
};

const messageOf = (outcome: Outcome<unknown> | undefined): string =>
  outcome === undefined || "gave" in outcome ? "nothing" : String(outcome.failed);

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: unknown) => (MpError.is(error) ? error.code : String(error)),
  );

const mismatches: readonly (readonly [string, Case, RegExp, RegExp?])[] = [
  [
    "parameters",
    { ofRank1: () => ({ params: { w: vector(1, 2) } }), play: step },
    /rank 1 differs from rank 0 at trainer: master\/w is f32\[2\]/,
  ],
  ["seed", { ofRank1: () => ({ seed: 7 }), play: step }, /rank 1 .* seed is 7 instead of 0/],
  [
    "optimizer",
    { ofRank1: () => ({ optimizer: sgd({ learningRate: 0.5 }) }), play: step },
    /rank 1 .* optimizer is sgd\(learningRate 0\.5\) instead of/,
  ],
  [
    "program",
    { ofRank1: () => ({ loss: loud }), play: step },
    /rank 1 differs from rank 0 at step: program is/,
  ],
  [
    "batch shape",
    {
      play: (training, rank) => training.step({ x: rank === 1 ? vector(1) : vector(1, 2) }),
    },
    /rank 1 differs from rank 0 at step: batch is batch\/x:f32\[1\]/,
  ],
  [
    "one batch fewer",
    { play: (training, rank) => training.fit(batches(3 - rank)) },
    /rank 1 is at the end of its data \(pass 0\) where rank 0 makes step 3/,
  ],
  [
    "one step fewer",
    { play: (training, rank) => training.fit(batches(3), { steps: 3 - rank }) },
    /rank 1 ends training \(steps\) where rank 0 makes step 3/,
  ],
  [
    "another call",
    { play: (training, rank) => (rank === 1 ? training.saveBytes() : step(training)) },
    /rank 1 calls saveBytes where rank 0 makes step 1/,
  ],
  [
    "loss that fails",
    { ofRank1: () => ({ loss: throwing }), play: step },
    /rank 1 failed: the loss has a fault/,
    /the loss has a fault/,
  ],
  [
    "callback that fails",
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
  ],
  [
    "data that fails",
    { play: (training, rank) => training.fit(rank === 1 ? breaking() : batches(4)) },
    /rank 1 failed: the file ends early/,
    /the file ends early/,
  ],
];

function* breaking(): Generator<{ x: ReturnType<typeof vector> }> {
  yield* batches(2);
  throw new Error("the file ends early");
}

describe("both ranks fail where they differ in", () => {
  for (const [difference, { ofRank1 = () => ({}), play }, message, own] of mismatches)
    it(difference, async () => {
      const [first, second] = await outcomesOfTwo<WeightsOf, Fed, NoModel, unknown>(
        await reference(),
        (rank) => ({ ...common(), ...(rank === 1 ? ofRank1() : {}) }),
        ({ training }, rank) => play(training, rank),
      );
      expect(first).toMatchObject({
        failed: { code: "MP_RANK_MISMATCH", message: expect.stringMatching(message) },
      });
      if (own === undefined) expect(messageOf(second)).toBe(messageOf(first));
      else expect(messageOf(second)).toMatch(own);
    });

  it("rates that callbacks set", async () => {
    const outcomes = await outcomesOfTwo<WeightsOf, Fed, NoModel, unknown>(
      await reference(),
      () => ({ ...common(), optimizer: sgd({ learningRate: settable(0.125) }) }),
      async ({ training }, rank) => {
        await training.setRates({ default: rank === 1 ? 0.25 : 0.5 });
        return step(training);
      },
    );
    for (const outcome of outcomes)
      expect(messageOf(outcome)).toMatch(
        /rank 1 .* rates is rates\/default 0\.25 instead of rates\/default 0\.5/,
      );
  });
});

interface Ended {
  readonly ended: FitResult["ended"] | undefined;
  readonly made: number;
}

type Ending = (training: Training, rank: number) => Promise<Ended>;

const endings: readonly (readonly [string, Ended, Ending])[] = [
  ["all of the data", { ended: "epochs", made: 6 }, (training) => training.fit(batches(3), { epochs: 2 })],
  [
    "a callback of one",
    { ended: "stopped", made: 2 },
    (training, rank) =>
      training.fit(batches(5), { onStep: ({ step: at }) => (rank === 1 && at === 2 ? "stop" : undefined) }),
  ],
  [
    "a signal of one",
    { ended: "aborted", made: 3 },
    (training, rank) => {
      const controller = new AbortController();
      return training.fit(batches(5), {
        signal: controller.signal,
        onStep: ({ step: at }) => {
          if (rank === 0 && at === 3) controller.abort();
        },
      });
    },
  ],
  [
    "a break of one",
    { ended: undefined, made: 2 },
    async (training, rank) => {
      let made = 0;
      for await (const _ of training.steps(batches(5))) {
        made++;
        if (rank === 0 && made === 2) break;
      }
      return { ended: undefined, made };
    },
  ],
];

describe("both ranks end, after as many steps, at", () => {
  it.each(endings)("%s", async (_, want, play) => {
    const [first, second] = await together<WeightsOf, Fed, NoModel, Ended & { readonly w: number[] }>(
      await reference(),
      common,
      async ({ training }, rank) => {
        const { ended, made } = await play(training, rank);
        // The run goes on: nothing is left of the end.
        await step(training);
        return { ended, made, w: Array.from((await training.parameters()).w.data) };
      },
    );
    expect(second).toEqual(first);
    expect(first).toMatchObject(want);
  });
});

type Averaging = Readonly<Record<"mean" | "seen", ReturnType<typeof vector>>>;

const averaging: LossFunction<WeightsOf, Fed, Averaging> = ({ w }, { x }, { modelState }) => ({
  loss: reduceSum(mul(w, x)),
  modelState: { mean: add(mul(modelState.mean, 0.5), reduceMean(x)), seen: add(modelState.seen, 1) },
});

const statistics = () => ({
  params: { w: fill([2], 0) },
  modelState: { mean: vector(0), seen: vector(0) },
  loss: averaging,
  optimizer: exactSgd(),
  precision: float32(),
});

describe("checkpoints of ranks", () => {
  it("give one rank the mean of two, and say so", async () => {
    const backend = await reference();
    const [bytes] = await together<WeightsOf, Fed, Averaging, Uint8Array>(
      backend,
      statistics,
      async ({ training }, rank) => {
        await training.fit([{ x: vector(1 + 4 * rank, 3 + 4 * rank) }, { x: vector(1, 1) }], { steps: 1 });
        return training.saveBytes();
      },
    );
    await withTrainer<WeightsOf, Fed, Averaging, void>(backend, statistics(), async ({ training }) => {
      expect(await training.loadBytes(bytes as Uint8Array)).toBeNull();
      const { mean, seen } = await training.modelState();
      expect([Array.from(mean.data), Array.from(seen.data)]).toEqual([[4], [1]]);
      expect(training.warnings.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/was made by 2 ranks and goes on with 1/),
      );
    });
  });

  it("that fail on rank 0 fail on all, with nothing loaded", async () => {
    const codes = await together<WeightsOf, Fed, Averaging, string>(
      await reference(),
      statistics,
      async ({ training }, rank) => {
        await training.step({ x: vector(1, rank) });
        const good = await training.saveBytes();
        const code = await codeOf(training.loadBytes(rank === 0 ? new Uint8Array(9) : good));
        await training.step({ x: vector(1, rank) });
        return code;
      },
    );
    expect(codes).toEqual(["MP_PARSE", "MP_RANK_MISMATCH"]);
  });
});

describe("a divided optimizer refuses", () => {
  const options = { ...common(), optimizer: sgd({ learningRate: 1 }), shard: "optimizer" as const };
  const codeOfTrainer = async (given: object): Promise<string> =>
    codeOf(
      reference().then((backend) =>
        trainer({ onWarning: () => undefined, ...options, ...given, backend } as never),
      ),
    );

  it.each<readonly [string, Partial<TrainerOptions<WeightsOf, Fed, NoModel>>]>([
    ["an optimizer of the whole tree", { optimizer: chain(clipByGlobalNorm(1), sgd({ learningRate: 1 })) }],
    ["an average", { ema: { decay: 0.5 } }],
    ["weights in a half", { precision: { ...float32(), masterWeights: kahan("bf16") } }],
  ])("%s", async (_, changes) => {
    const codes = await Promise.all(inProcessRanks(2).map((ranks) => codeOfTrainer({ ...changes, ranks })));
    expect(codes).toEqual(["MP_UNSUPPORTED", "MP_UNSUPPORTED"]);
  });

  it("one process", async () => {
    expect(await codeOfTrainer({})).toBe("MP_INVALID_ARGUMENT");
  });
});
