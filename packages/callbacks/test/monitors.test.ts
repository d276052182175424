import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FitCallback, FitStart } from "@mp/core/fit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type AnyCallback,
  earlyStopping,
  keepBest,
  latestCheckpoint,
  reduceOnPlateau,
  rotate,
} from "../src/index.js";
import { batches, smallRun } from "./small-run.js";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-monitors-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Calls the callback with validations of these losses; returns its answers and its calls of the run. */
async function after(callback: AnyCallback, losses: readonly number[]) {
  const saves: string[] = [];
  const rates: number[] = [];
  let rate = 1;
  const training: FitStart["training"] = {
    save: async (path) => void saves.push(path),
    loadWeights: async () => undefined,
    rates: async () => ({ default: rate }),
    setRates: async (set) => {
      rate = set["default"] as number;
    },
  };
  const start = { step: 0, epoch: 0, steps: undefined, epochs: 9, validates: true, training };
  await callback.onStart?.(start);
  const answers: unknown[] = [];
  const saved: number[] = [];
  for (const [epoch, loss] of losses.entries()) {
    const at = { step: 10 * (epoch + 1), epoch };
    answers.push(await callback.onValidation?.({ ...at, loss } as typeof at));
    const before = saves.length;
    await callback.afterCallbacks?.(at);
    if (saves.length > before) saved.push(epoch);
    rates.push(rate);
  }
  return { answers: answers.map((answer) => answer ?? "-"), rates, saved };
}

describe("earlyStopping", () => {
  it("stops when patience values in a row are not better by minDelta", async () => {
    const losses = [5, 4, 4.5, 3.95, 3, 3, 3.1, 2.95];
    const stopping = earlyStopping({ patience: 3, minDelta: 0.1 });
    const { answers } = await after(stopping, losses);
    expect(answers).toEqual(["-", "-", "-", "-", "-", "-", "-", "stop"]);
    expect(stopping.best).toEqual({ value: 3, step: 50, epoch: 4 });
  });

  it("takes what is not finite for worse, and larger for better where it is told to", async () => {
    expect(
      (await after(earlyStopping({ patience: 2 }), [Number.NaN, Number.NEGATIVE_INFINITY, 1])).answers,
    ).toEqual(["-", "stop", "-"]);
    const stopping = earlyStopping({ patience: 2, mode: "max" });
    expect((await after(stopping, [1, 2, 1, 1])).answers).toEqual(["-", "-", "-", "stop"]);
    expect(stopping.best?.value).toBe(2);
  });

  it("follows the mean of a pass's steps where the monitor is theirs", async () => {
    const losses: number[] = [];
    const stopping = earlyStopping({ monitor: "error", mode: "min", patience: 9 });
    const training = await smallRun();
    await training.fit(batches(3), {
      callbacks: [stopping, { onStep: ({ metrics }) => void losses.push(metrics.error) }],
    });
    expect(stopping.best?.value).toBe(losses.reduce((sum, loss) => sum + loss, 0) / 3);
  });

  it.each<[string, AnyCallback, string]>([
    [
      "a metric of the steps",
      earlyStopping({ monitor: "accuracy", mode: "max" }),
      "earlyStopping: monitor is accuracy, and what exists is loss, applied, scale, gradNorm, retries, error, rates/default",
    ],
    [
      "Keras's name of a validation's loss",
      earlyStopping({ monitor: "val_loss" }),
      "what exists is loss, applied, scale, gradNorm, retries, error, rates/default; a validation has validation/loss",
    ],
    [
      "a metric of the validation",
      keepBest({ path: "x", monitor: "validation/accuracy", mode: "max" }),
      "keepBest: monitor is validation/accuracy, and what exists is validation/loss, validation/error",
    ],
  ])("names what exists where there is no such number: %s", async (_name, callback, message) => {
    const training = await smallRun();
    const failing = training.fit(batches(2), { validation: { data: batches(1) }, callbacks: [callback] });
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });

  it("is refused without a validation to follow, before the first step", async () => {
    const training = await smallRun();
    const failing = training.fit(batches(2), { callbacks: [earlyStopping()] });
    await expect(failing).rejects.toThrow(
      "earlyStopping: monitor is validation/loss, and fit has no validation; give it validation: { data }, or",
    );
    expect((await training.counters()).iteration).toBe(0);
  });

  it.each([
    [() => earlyStopping({ patience: 0 }), "earlyStopping: patience must be an integer ≥ 1, got 0"],
    [() => earlyStopping({ monitor: "accuracy" }), "earlyStopping: mode is needed for accuracy"],
    [() => earlyStopping({ minDelta: -1 }), "earlyStopping: minDelta must be a finite number ≥ 0, got -1"],
    [
      () => earlyStopping({ restoreBestWeights: true } as never),
      "keepBest({ path, restore: true }) beside it puts the best weights back",
    ],
    [() => keepBest({} as never), "keepBest: path must be a path, got undefined"],
    [
      () => reduceOnPlateau({ factor: 1 }),
      "reduceOnPlateau: factor must be a number above 0 and below 1, got 1",
    ],
    [() => rotate({ folder: "x", keep: 0 }), "rotate: keep must be an integer ≥ 1, got 0"],
  ])("refuses options: %#", (make, message) => {
    expect(make).toThrow(message);
  });
});

describe("keepBest", () => {
  it("saves the best when fit goes on after a save that failed", async () => {
    const place = join(folder, "absent");
    const path = join(place, "best");
    // No later value is that much better.
    const best = keepBest({ path, monitor: "error", mode: "min", minDelta: 100 });
    const training = await smallRun();
    const losesFolder = { onStep: () => rm(place, { recursive: true }) };
    const failing = training.fit(batches(1), { callbacks: [losesFolder, best] });
    await expect(failing).rejects.toMatchObject({ code: "MP_IO" });
    await mkdir(place);
    await training.fit(batches(1), { epochs: 2, callbacks: [best] });
    const kept = await smallRun();
    await kept.load(path);
    expect(best.best?.step).toBe(1);
    expect((await kept.counters()).iteration).toBe(1);
  });

  it("saves each time the number is better than ever", async () => {
    const best = keepBest({ path: "x" });
    expect((await after(best, [5, 6, 4, 4, 3])).saved).toEqual([0, 2, 4]);
    expect(best.best).toEqual({ value: 3, step: 50, epoch: 4 });
  });
});

describe("keepBest with restore", () => {
  /** Losses by step: they fall, then rise, since the rate is far too high after the third step. */
  async function trained(options: { readonly restore?: boolean; readonly steps?: number }) {
    const training = await smallRun({ learningRate: 0.05 });
    const path = join(folder, `restored-${Object.values(options).join("-")}`);
    const best = keepBest({ path, restore: options.restore ?? false });
    const raise = {
      onStep: ({ step }: { readonly step: number }) =>
        step === 3 ? training.setRates({ default: 40 }) : undefined,
    };
    const { ended } = await training.fit(batches(1), {
      ...(options.steps === undefined ? { epochs: 50 } : { steps: options.steps }),
      validation: { data: batches(2, 7) },
      callbacks: [raise, earlyStopping({ patience: 2 }), best],
    });
    const kept = await smallRun();
    await kept.load(path);
    return { training, kept, best, ended };
  }

  it("ends with the weights of the file, and the optimizer, counters and rates of the last step", async () => {
    const { training, kept, best, ended } = await trained({ restore: true });
    expect(ended).toBe("stopped");
    expect(await training.parameters()).toEqual(await kept.parameters());
    const { iteration } = await training.counters();
    expect(iteration).toBe((best.best?.step ?? 0) + 2);
    expect(await training.rates()).toEqual({ default: 40 });
    const { loss } = await training.evaluateAll(batches(2, 7));
    expect(loss).toBe(best.best?.value);
  });

  it("leaves the last weights without it", async () => {
    const { training, kept } = await trained({});
    expect(await training.parameters()).not.toEqual(await kept.parameters());
  });

  it("leaves the last weights of a run that was aborted, so that it can go on", async () => {
    const training = await smallRun({ learningRate: 40 });
    const abort = new AbortController();
    const path = join(folder, "aborted");
    await training.fit(batches(1), {
      epochs: 9,
      signal: abort.signal,
      validation: { data: batches(2, 7) },
      callbacks: [
        keepBest({ path, restore: true }),
        { onStep: ({ step }) => (step === 3 ? abort.abort() : undefined) },
      ],
    });
    const kept = await smallRun();
    await kept.load(path);
    expect((await kept.counters()).iteration).toBe(1);
    expect(await training.parameters()).not.toEqual(await kept.parameters());
  });
});

describe("reduceOnPlateau", () => {
  // Keras 3.15.1, ReduceLROnPlateau(monitor="loss", factor=0.5, patience=2, cooldown=2, min_lr=0.2, min_delta=1e-4) at
  // rate 1, on_epoch_end with these losses: the rates after each.
  it("gives the rates of Keras's", async () => {
    const losses = [5, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4];
    const { rates } = await after(
      reduceOnPlateau({ factor: 0.5, patience: 2, cooldown: 2, minRate: 0.2 }),
      losses,
    );
    expect(rates).toEqual([1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]);
  });

  it("is refused where no rate can be set", async () => {
    const training = await smallRun({ isSettable: false });
    const failing = training.fit(batches(2), {
      validation: { data: batches(1) },
      callbacks: [reduceOnPlateau()],
    });
    await expect(failing).rejects.toThrow(
      "reduceOnPlateau: no learning rate can be set; make it so: learningRate:",
    );
  });
});

describe("rotate", () => {
  it("keeps the last files, and the end's", async () => {
    const path = join(folder, "rotated");
    expect(await latestCheckpoint(path)).toBeUndefined();
    const training = await smallRun();
    await training.fit(batches(5), { steps: 11, callbacks: [rotate({ folder: path, every: 2, keep: 2 })] });
    expect((await readdir(path)).sort()).toEqual(["step-10.safetensors", "step-11.safetensors"]);
    expect(await latestCheckpoint(path)).toBe(join(path, "step-11.safetensors"));
    const resumed = await smallRun();
    await resumed.load(join(path, "step-10.safetensors"));
    expect((await resumed.counters()).iteration).toBe(10);
  });

  it("removes what a run that went back had made, and leaves other files", async () => {
    const path = join(folder, "back");
    const training = await smallRun();
    const early = join(folder, "early");
    const saveEarly: FitCallback = {
      onStep: async ({ step }) => (step === 2 ? training.save(early) : undefined),
    };
    await training.fit(batches(5), {
      epochs: 4,
      callbacks: [rotate({ folder: path, keep: 3 }), saveEarly],
    });
    expect((await readdir(path)).sort()).toEqual([
      "step-10.safetensors",
      "step-15.safetensors",
      "step-20.safetensors",
    ]);
    const resumed = await smallRun();
    await resumed.load(early);
    await resumed.save(join(path, "mine.safetensors"));
    await resumed.fit(batches(5), { steps: 4, callbacks: [rotate({ folder: path, every: 1, keep: 3 })] });
    expect((await readdir(path)).sort()).toEqual([
      "mine.safetensors",
      "step-3.safetensors",
      "step-4.safetensors",
    ]);
    // If step 20 were still there, a crash now would make the next run resume from that abandoned step.
    expect(await latestCheckpoint(path)).toBe(join(path, "step-4.safetensors"));
  });

  it("leaves folders alone, and says what cannot be read or written", async () => {
    const path = join(folder, "odd");
    await mkdir(join(path, "step-50.safetensors"), { recursive: true });
    const training = await smallRun();
    await training.fit(batches(5), { steps: 2, callbacks: [rotate({ folder: path, every: 1, keep: 1 })] });
    expect((await readdir(path)).sort()).toEqual(["step-2.safetensors", "step-50.safetensors"]);
    const file = join(path, "step-2.safetensors");
    expect(await latestCheckpoint(path)).toBe(file);
    const failing = training.fit(batches(5), { callbacks: [rotate({ folder: file })] });
    await expect(failing).rejects.toMatchObject({ code: "MP_IO", details: { path: file } });
    await expect(latestCheckpoint(file)).rejects.toMatchObject({ code: "MP_IO", details: { path: file } });
    await expect(latestCheckpoint("")).rejects.toThrow('latestCheckpoint: folder must be a path, got ""');
  });
});
