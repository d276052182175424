// Stopping changes nothing: N steps give the same bits as k steps, a checkpoint and N - k steps.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adagrad } from "../../src/optim/adagrad.js";
import { adam, adamW } from "../../src/optim/adam.js";
import { chain } from "../../src/optim/chain.js";
import { clipByGlobalNorm, clipByValue } from "../../src/optim/clip.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import { rmsProp } from "../../src/optim/rms-prop.js";
import { cosineDecay } from "../../src/optim/schedules/cosine-decay.js";
import { momentum, sgd } from "../../src/optim/sgd.js";
import { weightDecay } from "../../src/optim/weight-decay.js";
import {
  dynamicLossScale,
  type LossScaler,
  noLossScaling,
  staticLossScale,
} from "../../src/precision/loss-scaler.js";
import {
  f32Master,
  kahan,
  type MasterWeights,
  noMasterWeights,
  stochasticRounding,
} from "../../src/precision/master-weights.js";
import {
  bfloat16,
  float16,
  mixedBfloat16,
  mixedFloat16,
  type Precision,
} from "../../src/precision/presets.js";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf } from "../small-run.js";
import { fraction } from "../soak/size.js";

const learningRate = cosineDecay(0.05, { steps: 20 });
const optimizers: Readonly<Record<string, Optimizer>> = {
  sgd: sgd({ learningRate }),
  momentum: momentum({ learningRate }),
  nesterov: momentum({ learningRate, nesterov: true }),
  adagrad: adagrad({ learningRate }),
  rmsProp: rmsProp({ learningRate }),
  adam: adam({ learningRate }),
  adamW: adamW({ learningRate }),
  chain: chain(weightDecay(0.01), clipByGlobalNorm(1), clipByValue(0.5), momentum({ learningRate })),
};
const masters: Readonly<Record<string, readonly [Precision, MasterWeights]>> = {
  f32: [mixedFloat16(), f32Master()],
  "f32 under bf16": [mixedBfloat16(), f32Master()],
  "none in f16": [float16(), noMasterWeights("f16")],
  "none in bf16": [bfloat16(), noMasterWeights("bf16")],
  kahan: [bfloat16(), kahan("bf16")],
  stochastic: [bfloat16(), stochasticRounding()],
};
/** The dynamic one overflows f16 at first, then grows, and overflows again. */
const scalers: Readonly<Record<string, LossScaler>> = {
  none: noLossScaling(),
  static: staticLossScale(256),
  dynamic: dynamicLossScale({ initialScale: 2 ** 18, growthInterval: 2, hysteresis: 2 }),
};
const windows: Readonly<Record<string, Partial<SmallOptions>>> = {
  whole: {},
  accumulated: { accumulate: 2, clipNorm: 0.8 },
};
const overflows = ["skip", "retry"] as const;

interface Choice {
  readonly optimizer: string;
  readonly masters: string;
  readonly scaler: string;
  readonly window: string;
  readonly onOverflow: "skip" | "retry";
}
const AXES = ["optimizer", "masters", "scaler", "window", "onOverflow"] as const;

/** All combinations: an index into them has the axes as digits. */
const all = Object.keys(optimizers).flatMap((optimizer) =>
  Object.keys(masters).flatMap((kept) =>
    Object.keys(scalers).flatMap((scaler) =>
      Object.keys(windows).flatMap((window) =>
        overflows.map((onOverflow): Choice => ({ optimizer, masters: kept, scaler, window, onOverflow })),
      ),
    ),
  ),
);

/** Two choices on two axes, each of which some case should have. */
const pairsOf = (choice: Choice): readonly string[] =>
  AXES.flatMap((a, index) => AXES.slice(index + 1).map((b) => `${a} ${choice[a]}, ${b} ${choice[b]}`));

/** The soak runs all; otherwise as few as have every pair, taking first what has most pairs that are still missing. */
function chosen(): readonly Choice[] {
  if (fraction === 1) return all;
  const missing = new Set(all.flatMap(pairsOf));
  const found: Choice[] = [];
  while (missing.size > 0) {
    const gain = (choice: Choice): number => pairsOf(choice).filter((pair) => missing.has(pair)).length;
    const best = all.reduce((a, b) => (gain(b) > gain(a) ? b : a));
    for (const pair of pairsOf(best)) missing.delete(pair);
    found.push(best);
  }
  return found;
}

function optionsOf(choice: Choice, seed: number): Partial<SmallOptions> {
  const [precision, masterWeights] = masters[choice.masters] as readonly [Precision, MasterWeights];
  const lossScaler = scalers[choice.scaler] as LossScaler;
  return {
    ...windows[choice.window],
    optimizer: optimizers[choice.optimizer] as Optimizer,
    onOverflow: choice.onOverflow,
    seed,
    precision: { ...precision, masterWeights, lossScaler },
  };
}

const cases = chosen().map(
  (choice, index) => [Object.values(choice).join(", "), optionsOf(choice, index)] as const,
);

const STEPS = 9;
const STOP = 4;

async function make(
  training: SmallTrainer,
  from: number,
  to: number,
  accumulate: number,
): Promise<unknown[]> {
  const results: unknown[] = [];
  for (let step = from; step < to; step++) {
    const micro = Array.from({ length: accumulate }, (_, index) => batch(step * accumulate + index));
    results.push(await training.step(...micro));
  }
  return results;
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-resume-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Logged {
  readonly applied: boolean;
  readonly retries: number;
  readonly scale: number;
}
const seen = { skipped: 0, retries: 0, growth: 0 };

describe("a run goes on from a checkpoint as if it had not stopped", () => {
  it.each(cases)("%s", async (_title, options) => {
    const accumulate = options.accumulate ?? 1;
    const path = join(folder, "run.safetensors");
    const straight = await smallRun(options);
    const head = await make(straight, 0, STOP, accumulate);
    await straight.save(path, { cursor: STOP });
    const whole = await make(straight, STOP, STEPS, accumulate);

    // Other work before loading, to be wiped out without a trace.
    const resumed = await smallRun(options);
    await make(resumed, 90, 91, accumulate);
    expect(await resumed.load(path)).toBe(STOP);
    expect(await make(resumed, STOP, STEPS, accumulate)).toEqual(whole);

    // Every bit of state, not only what the steps tell.
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    await straight.save(a, { cursor: 0 });
    await resumed.save(b, { cursor: 0 });
    expect((await readFile(a)).equals(await readFile(b))).toBe(true);
    await straight.dispose();
    await resumed.dispose();

    const logged = [...head, ...whole] as readonly Logged[];
    for (const [index, { applied, retries, scale }] of logged.entries()) {
      if (!applied) seen.skipped++;
      seen.retries += retries;
      if (scale > (logged[index - 1]?.scale ?? scale)) seen.growth++;
    }
    expect(logged.some(({ applied }) => applied)).toBe(true);
  });

  it("and there were skips, retries and growing scales among them", () => {
    expect(seen.skipped).toBeGreaterThan(cases.length / 10);
    expect(seen.retries).toBeGreaterThan(cases.length / 10);
    expect(seen.growth).toBeGreaterThan(cases.length / 10);
  });

  it("and the checkpoint in the middle left no trace either", async () => {
    const [plain, saving] = [await smallRun(), await smallRun()];
    for (let step = 0; step < 4; step++) {
      await saving.save(join(folder, "middle"));
      expect(await saving.step(batch(step))).toEqual(await plain.step(batch(step)));
    }
    expect(await stateOf(saving)).toEqual(await stateOf(plain));
  });
});
