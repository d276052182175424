import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf } from "../../../test/small-run.js";
import type { FitCallback, FitEnd, FitStep } from "../callbacks/callback.js";
import type { Json } from "../callbacks/json.js";
import type { StepResult } from "../definition/result.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { DataSource } from "./source.js";

type Data = ReturnType<typeof batch>;
const batches = (count: number, rows?: number): Data[] =>
  Array.from({ length: count }, (_, index) => batch(index, rows));

/** A dataset with cursors, like those of @mp/data, that records which batches it hands out. */
function dataset(all: readonly Data[]): DataSource<Data> & { readonly asked: number[] } {
  const asked: number[] = [];
  const iterate = (cursor?: Json) => {
    let at = cursor === undefined ? 0 : (cursor as { readonly at: number }).at;
    return {
      next: async (): Promise<IteratorResult<Data>> => {
        const value = all[at];
        if (value === undefined) return { done: true, value: undefined };
        asked.push(at++);
        return { done: false, value };
      },
      get cursor(): Json {
        return { at };
      },
    };
  };
  return { iterate, asked };
}

/** Like `dataset`, but each pass begins one batch later, as a shuffled dataset has another order in each. */
function turning(all: readonly Data[]): DataSource<Data> & { readonly asked: number[] } {
  const asked: number[] = [];
  const iterate = (cursor?: Json, given = 0) => {
    let { at, pass } = (cursor ?? { at: 0, pass: given }) as { at: number; pass: number };
    return {
      next: async (): Promise<IteratorResult<Data>> => {
        if (at >= all.length) return { done: true, value: undefined };
        const index = (at++ + pass) % all.length;
        asked.push(index);
        return { done: false, value: all[index] as Data };
      },
      get cursor(): Json {
        return { at, pass };
      },
    };
  };
  return { iterate, asked };
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-fit-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Makes the same steps by calling `step` in turn. */
async function byHand(all: readonly Data[], options: Partial<SmallOptions> = {}): Promise<unknown> {
  const training = await smallRun(options);
  for (const one of all) await training.step(one);
  return stateOf(training);
}

async function fitted(
  data: Parameters<SmallTrainer["fit"]>[0],
  options: NonNullable<Parameters<SmallTrainer["fit"]>[1]> = {},
  runOptions: Partial<SmallOptions> = {},
) {
  const training = await smallRun(runOptions);
  const steps: FitStep[] = [];
  const result = await training.fit(data, { ...options, onStep: (step) => void steps.push(step) });
  return { training, steps, result, state: await stateOf(training) };
}

/** A cursor from a checkpoint that somebody else wrote. */
const cursorAt = (place: Json) => ({ feed: 1, pass: 0, place, shapes: null });

describe("fit", () => {
  it("makes the steps that calls of step would make", async () => {
    const all = batches(5);
    const { steps, result, state } = await fitted(all);
    expect(result).toEqual({ steps: 5, made: 5, ended: "epochs" });
    expect(steps.map(({ step, epoch, applied }) => [step, epoch, applied])).toEqual(
      all.map((_, index) => [index + 1, 0, true]),
    );
    expect(state).toEqual(await byHand(all));
  });

  it("takes arrays, datasets, and generators sync and async", async () => {
    const all = batches(3);
    const want = await byHand(all);
    function* sync(): Generator<Data> {
      yield* all;
    }
    async function* later(): AsyncGenerator<Data> {
      yield* all;
    }
    for (const data of [dataset(all), sync(), later(), new Set(all)]) {
      expect((await fitted(data)).state).toEqual(want);
    }
  });

  it("goes through the data as often as epochs says, or as steps take", async () => {
    const all = batches(3);
    const twice = await byHand([...all, ...all]);
    expect((await fitted(all, { epochs: 2 })).state).toEqual(twice);
    const { state, result, steps } = await fitted(dataset(all), { steps: 6 });
    expect(state).toEqual(twice);
    expect(result).toEqual({ steps: 6, made: 6, ended: "steps" });
    expect(steps.map(({ epoch }) => epoch)).toEqual([0, 0, 0, 1, 1, 1]);
    expect((await fitted(all, { epochs: 5, steps: 4 })).result).toEqual({
      steps: 4,
      made: 4,
      ended: "steps",
    });
  });

  it("counts steps and epochs from the start of the run, and one more pass by default", async () => {
    const all = batches(3);
    const training = await smallRun();
    expect(await training.fit(all, { steps: 2 })).toMatchObject({ steps: 2, made: 2 });
    expect(training.warnings).toEqual([]);
    expect(await training.fit(all, { steps: 2 })).toMatchObject({ steps: 2, made: 0, ended: "steps" });
    expect(training.warnings.at(-1)).toEqual({
      type: "data",
      message:
        "fit: nothing to do: the run is already at step 2 of steps: 2; pass at least steps: 3, or neither for one more pass",
      details: { iteration: 2, passes: 0 },
    });
    expect(await training.fit(all)).toMatchObject({ steps: 3, made: 1, ended: "epochs" });
    expect(await training.fit(all)).toMatchObject({ steps: 6, made: 3 });
    expect(await training.fit(all, { epochs: 2 })).toMatchObject({ made: 0, ended: "epochs" });
    expect(training.warnings.at(-1)?.message).toMatch(
      /the run has already made 2 passes of epochs: 2; pass at least epochs: 3, or neither/,
    );
    expect(training.warnings).toHaveLength(2);
    expect(await stateOf(training)).toEqual(await byHand([...all, ...all]));
  });

  it("takes a window of batches a step, and says what was left over", async () => {
    const warnings: TrainingWarning[] = [];
    const options = { accumulate: 2, onWarning: (warning: TrainingWarning) => void warnings.push(warning) };
    const { result } = await fitted(batches(5), {}, options);
    expect(result.made).toBe(2);
    expect(warnings).toEqual([
      { type: "data", message: "the last batch of a pass was left out, a step takes 2 (accumulate)" },
    ]);
  });

  it("leaves out the last batch of a pass where it is smaller, and says so once", async () => {
    const warnings: TrainingWarning[] = [];
    const data = [...batches(2), batch(7, 3)];
    const options = { onWarning: (warning: TrainingWarning) => void warnings.push(warning) };
    const { state, result } = await fitted(data, { epochs: 2 }, options);
    expect(result.made).toBe(4);
    expect(state).toEqual(await byHand([...batches(2), ...batches(2)]));
    expect(warnings.map(({ type }) => type)).toEqual(["data"]);
    const kept = await fitted(data, { partial: "keep" });
    expect(kept.state).toEqual(await byHand(data));
    // Only the last batch of a pass counts as partial, and only if it has the structure of the others.
    const middle = [batch(0), batch(1, 3), batch(2)];
    expect((await fitted(middle)).state).toEqual(await byHand(middle));
  });

  it("warns once of a validation whose loss is NaN", async () => {
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({ onWarning: (warning) => void warnings.push(warning) });
    const broken = batch(7);
    broken.x.data[2] = Number.NaN;
    await training.fit(batches(2), { epochs: 2, validation: { data: [broken] } });
    expect(warnings.map(({ message }) => message)).toEqual([
      "validation: the loss is NaN; diagnose([batch]) of its data names what is not finite",
    ]);
    expect((await training.diagnose([broken]))?.remedy).toContain("NaN at [0, 2]");
    await training.fit(batches(2), { epochs: 3, validation: { data: [batch(7)] } });
    expect(warnings.length).toBe(1);
  });

  it.each([
    [6, 3],
    [3, 6],
    [3, 3],
  ])(
    "trains on all batches where they go from %i rows to %i, within a pass and after it",
    async (from, to) => {
      for (const steps of [2, 4]) {
        const warnings: TrainingWarning[] = [];
        const training = await smallRun({ onWarning: (warning) => void warnings.push(warning) });
        await training.fit(dataset(batches(4, from)), { epochs: 1, steps });
        const asked: number[] = [];
        const { made } = await training.fit(dataset(batches(4, to)), {
          epochs: 3,
          onStep: ({ batches: [own] }) => void asked.push(own?.x.shape?.[0] ?? 0),
        });
        expect(made).toBe(12 - steps);
        expect(asked).toEqual(Array(12 - steps).fill(to));
        expect(warnings).toEqual([]);
      }
    },
  );

  it("tries the file that it saves to before the first step, and makes its folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-fit-save-"));
    try {
      const training = await smallRun();
      const path = join(folder, "runs", "first", "run.safetensors");
      await training.fit(batches(2), { save: { path } });
      expect((await stat(path)).size).toBeGreaterThan(0);
      let steps = 0;
      const onStep = (): void => void steps++;
      for (const wrong of [join(path, "inside a file"), join(folder, "runs")])
        await expect(training.fit(batches(2), { onStep, save: { path: wrong } })).rejects.toMatchObject({
          code: "MP_IO",
          details: { path: wrong },
        });
      expect(steps).toBe(0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("ends between two microbatches at the trainer's signal, and saves what was made", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const training = await smallRun({ accumulate: 500, signal });
    const path = join(folder, "given-up");
    const onStep = (): void => {
      setImmediate(() => controller.abort("enough"));
    };
    const result = await training.fit(batches(2000), { onStep, save: { path } });
    expect(result).toEqual({ steps: 1, made: 1, ended: "aborted" });
    const resumed = await smallRun({ accumulate: 500 });
    await resumed.load(path);
    expect(await stateOf(resumed)).toEqual(await stateOf(training));
  });

  it("ends at the signal after the step under way, and saves", async () => {
    const path = join(folder, "aborted");
    const training = await smallRun();
    const controller = new AbortController();
    const result = await training.fit(batches(9), {
      signal: controller.signal,
      save: { path },
      onStep: ({ step }) => {
        if (step === 3) controller.abort();
      },
    });
    expect(result).toEqual({ steps: 3, made: 3, ended: "aborted" });
    const resumed = await smallRun();
    await resumed.load(path);
    await resumed.fit(batches(9));
    expect(await stateOf(resumed)).toEqual(await byHand(batches(9)));
    const none = await training.fit(batches(9), { signal: AbortSignal.abort() });
    expect(none).toMatchObject({ made: 0, ended: "aborted" });
  });

  it("ends at the trainer's signal after the step under way", async () => {
    const controller = new AbortController();
    const training = await smallRun({ signal: controller.signal });
    const onStep = ({ step }: { readonly step: number }): void => {
      if (step === 3) controller.abort(new Error("enough"));
    };
    expect(await training.fit(batches(9), { onStep })).toEqual({ steps: 3, made: 3, ended: "aborted" });
    expect(await training.fit(batches(9))).toMatchObject({ made: 0, ended: "aborted" });
    const before = await stateOf(training);
    await expect(training.step(batch(3))).rejects.toThrow("enough");
    expect(await stateOf(training)).toEqual(before);
  });

  it("lets timers run between steps, so that a timeout can end it", async () => {
    const training = await smallRun();
    const controller = new AbortController();
    const result = await training.fit(batches(1), {
      steps: 1_000_000,
      signal: controller.signal,
      // The timer starts after the first step, which may take longer than any time-out on a busy machine.
      onStep: ({ step }) => void (step === 1 && setTimeout(() => controller.abort(), 30)),
    });
    expect(result.ended).toBe("aborted");
    expect(result.made).toBeGreaterThan(0);
  });

  it("waits for onStep, which may use the trainer, and ends with what it throws", async () => {
    const training = await smallRun();
    const seen: number[] = [];
    const failure = new Error("enough");
    const running = training.fit(batches(5), {
      onStep: async ({ step }) => {
        seen.push((await training.counters()).iteration, (await training.evaluate(batch(9))).loss);
        if (step === 2) throw failure;
      },
    });
    await expect(running).rejects.toBe(failure);
    expect(seen.filter(Number.isInteger)).toEqual([1, 2]);
    expect(await training.fit(batches(5))).toMatchObject({ steps: 5, made: 3 });
  });

  it("closes data that it leaves early", async () => {
    let closed = 0;
    function* source(): Generator<Data> {
      try {
        yield* batches(9);
      } finally {
        closed++;
      }
    }
    await fitted(source(), { steps: 2 });
    expect(closed).toBe(1);
    await fitted(source());
    expect(closed).toBe(2);
  });

  it.each([
    [() => [], {}, "fit: the data holds no batches"],
    [
      () => batches(2).values(),
      { steps: 5 },
      /no batches in pass 2; a generator can be gone through only once/,
    ],
    [() => 7 as never, {}, "fit: data must be an iterable of batches or have iterate(cursor), got 7"],
    [() => ({ x: 1 }) as never, {}, "got an object with x; make one with arrayDataset"],
    [() => undefined as never, {}, /data must be an iterable/],
    [() => batches(1), { steps: 0 }, "fit: steps must be an integer ≥ 1, got 0"],
    [() => batches(1), { epochs: 1.5 }, /epochs must be an integer/],
    [() => batches(1), { save: { path: "x", every: 0 } }, /fit: save: every must be an integer ≥ 1, got 0/],
    [() => batches(1), { partial: "kept" as never }, 'fit: partial must be "drop" or "keep", got "kept"'],
    [() => batches(1), { signal: new AbortController() as never }, /fit: signal is .*; pass that of/],
    [() => [[1, 2]] as never, {}, /batch: is an array of numbers/],
    [() => batches(1), { cursor: 4 }, "fit: the cursor is after batch 4, and there are 1"],
    [() => batches(1), { cursor: { at: 1 } }, /the cursor {"at":1} is that of a dataset/],
    [() => batches(1), { cursor: { feed: 2 } }, /no cursor of fit/],
    [() => batches(2), { cursor: cursorAt(0.5) }, "fit: the cursor 0.5 is no count of batches"],
    [() => batches(2), { cursor: cursorAt(-1) }, "fit: the cursor -1 is no count of batches"],
    [() => batches(2), { cursor: { ...cursorAt(null), shapes: { "batch/x": 3 } } }, /no cursor of fit/],
    [
      () => batches(2),
      { cursor: { ...cursorAt(null), shapes: { "batch/x": [2, 0.5] } } },
      /no cursor of fit/,
    ],
    [() => batches(2), { cursor: { ...cursorAt(null), shapes: "abc" } }, /no cursor of fit/],
    [() => batches(2), { cursor: { ...cursorAt(null), pass: -1 } }, /no cursor of fit/],
  ])("refuses %s with %o", async (data, options, message) => {
    const training = await smallRun();
    const failing = training.fit(data(), options as Parameters<SmallTrainer["fit"]>[1]);
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
    // The trainer still accepts better data.
    expect(await training.fit(batches(1), { cursor: null })).toMatchObject({ ended: "epochs" });
  });

  it("refuses a second one beside it, and a step or a load under it", async () => {
    const training = await smallRun();
    await training.save(join(folder, "empty"));
    await training.fit(batches(2), {
      onStep: async () => {
        await expect(training.fit(batches(1))).rejects.toThrow(
          /fit: a fit or steps of this trainer is under way/,
        );
        await expect(training.steps(batches(1)).next()).rejects.toThrow(/steps: a fit or steps/);
        await expect(training.load(join(folder, "empty"))).rejects.toThrow(
          /load: a fit or steps of this trainer is under way/,
        );
        await expect(training.step(batch(0))).rejects.toMatchObject({
          code: "MP_INVALID_ARGUMENT",
          message: expect.stringContaining("step: a fit or steps of this trainer is under way") as string,
        });
        await expect(training.profile(batch(0))).rejects.toThrow(/profile: a fit or steps/);
      },
    });
    expect(await training.fit(batches(2))).toMatchObject({ made: 2 });
  });
});

describe("the place in the data", () => {
  it.each([
    ["an array", () => batches(7)],
    ["a dataset", () => dataset(batches(7))],
    ["an array whose last batch is smaller", () => [...batches(6), batch(9, 2)]],
    ["a dataset whose last batch is smaller", () => dataset([...batches(3), batch(9, 2)])],
  ])("is saved inside fit and gone on from: %s", async (_name, data) => {
    const steps = 17;
    const whole = await fitted(data(), { steps });
    for (const stop of [1, 3, 6, 7, 11]) {
      const path = join(folder, "place");
      const first = await smallRun();
      await first.fit(data(), {
        steps: 15,
        onStep: async ({ step }) => {
          if (step === stop) await first.save(path);
        },
      });
      const second = await smallRun();
      await second.load(path);
      expect(await second.fit(data(), { steps })).toEqual({ steps, made: steps - stop, ended: "steps" });
      expect(await stateOf(second), `stopped at ${stop}`).toEqual(whole.state);
    }
  });

  it("knows the pass: each has its own order, in a resumed run too", async () => {
    const all = batches(3);
    const whole = turning(all);
    const { state } = await fitted(whole, { epochs: 3 });
    expect(whole.asked).toEqual([0, 1, 2, 1, 2, 0, 2, 0, 1]);
    const path = join(folder, "turning.safetensors");
    for (let stop = 1; stop < 9; stop++) {
      const first = await smallRun();
      await first.fit(turning(all), { steps: stop, save: { path } });
      const second = await smallRun();
      await second.load(path);
      const rest = turning(all);
      await second.fit(rest, { epochs: 3 });
      expect(rest.asked).toEqual(whole.asked.slice(stop));
      expect(await stateOf(second)).toEqual(state);
    }
  });

  it("is that of the state, not of what a loader has read ahead or a caller has in hand", async () => {
    const path = join(folder, "concurrent");
    const data = dataset(batches(8));
    const training = await smallRun();
    let saving: Promise<void> | undefined;
    let stop = 0;
    await training.fit(data, {
      steps: 8,
      onStep: ({ step }) => {
        // The save is not awaited: it runs between this step and the next.
        if (step === 4) saving = training.save(path);
        stop = step;
      },
    });
    await saving;
    const resumed = await smallRun();
    await resumed.load(path);
    expect((await resumed.counters()).iteration).toBe(4);
    const rest = dataset(batches(8));
    await resumed.fit(rest);
    expect(rest.asked).toEqual([4, 5, 6, 7]);
    expect(stop).toBe(8);
    expect(await stateOf(resumed)).toEqual(await stateOf(training));
  });

  it("is saved every so many steps and at the end", async () => {
    const path = join(folder, "every");
    const training = await smallRun();
    const saved: number[] = [];
    await training.fit(batches(7), {
      save: { path, every: 3 },
      onStep: async ({ step }) => {
        const reader = await smallRun();
        if (step > 3) {
          await reader.load(path);
          saved.push((await reader.counters()).iteration);
        }
      },
    });
    expect(saved).toEqual([3, 3, 3, 6]);
    const last = await smallRun();
    await last.load(path);
    expect(await stateOf(last)).toEqual(await stateOf(training));
  });

  it("is forgotten by a step outside, and may be given", async () => {
    const path = join(folder, "forgotten");
    const training = await smallRun();
    await training.fit(batches(4), { steps: 2 });
    await training.step(batch(99));
    await training.save(path);
    expect(await (await smallRun()).load(path)).toBe(null);
    await training.save(path, { cursor: { at: 3 } });
    const resumed = await smallRun();
    expect(await resumed.load(path)).toEqual({ at: 3 });
    const data = dataset(batches(5));
    await resumed.fit(data);
    expect(data.asked).toEqual([3, 4]);
    const again = dataset(batches(5));
    await resumed.fit(again, { cursor: { at: 1 } });
    expect(again.asked).toEqual([1, 2, 3, 4]);
  });
});

describe("callbacks", () => {
  /** A callback that records what it is called with. */
  const witness = (calls: unknown[], name = ""): FitCallback => ({
    onStart: ({ step, epoch }) => void calls.push([`${name}start`, { step, epoch }]),
    onStep: ({ step, epoch }) => void calls.push([`${name}step`, { step, epoch }]),
    onEpoch: (epoch) => void calls.push([`${name}epoch`, epoch]),
    onEnd: (end) => void calls.push([`${name}end`, end]),
  });

  it("get the start, each step, each pass and the end", async () => {
    const calls: unknown[] = [];
    const training = await smallRun();
    await training.fit(batches(2), { epochs: 2, callbacks: [witness(calls)] });
    expect(calls).toEqual([
      ["start", { step: 0, epoch: 0 }],
      ["step", { step: 1, epoch: 0 }],
      ["step", { step: 2, epoch: 0 }],
      ["epoch", { epoch: 0, step: 2 }],
      ["step", { step: 3, epoch: 1 }],
      ["step", { step: 4, epoch: 1 }],
      ["epoch", { epoch: 1, step: 4 }],
      ["end", { steps: 4, made: 4, ended: "epochs" }],
    ]);
    calls.length = 0;
    await training.fit(batches(2), { steps: 5, callbacks: [witness(calls)] });
    expect(calls).toEqual([
      ["start", { step: 4, epoch: 2 }],
      ["step", { step: 5, epoch: 2 }],
      ["end", { steps: 5, made: 1, ended: "steps" }],
    ]);
  });

  it("get the numbers of a step, its batches and its time", async () => {
    const training = await smallRun({ accumulate: 2 });
    const all = batches(2);
    const seen: FitStep[] = [];
    await training.fit(all, { onStep: (step) => void seen.push(step) });
    expect(seen).toMatchObject([{ step: 1, applied: true, batches: all }]);
    expect(seen[0]?.batches[0]).toBe(all[0]);
    expect(seen[0]?.milliseconds).toBeGreaterThan(0);
  });

  it("are called in order and awaited, onStep first, and may use the trainer", async () => {
    const training = await smallRun();
    const calls: string[] = [];
    const slow = (name: string): FitCallback => ({
      onStep: async () => {
        calls.push(`${name} begins at ${(await training.counters()).iteration}`);
        await new Promise((done) => setTimeout(done, 2));
        calls.push(`${name} ends`);
      },
    });
    await training.fit(batches(2), {
      steps: 1,
      callbacks: [slow("first"), slow("second")],
      onStep: () => void calls.push("onStep"),
    });
    expect(calls).toEqual(["onStep", "first begins at 1", "first ends", "second begins at 1", "second ends"]);
  });

  it.each([
    ["at the start", { onStart: () => "stop" }, 0],
    ["at a step", { onStep: async ({ step }) => (step === 3 ? "stop" : undefined) }, 3],
    ["at the end of a pass", { onEpoch: ({ epoch }) => (epoch === 1 ? "stop" : undefined) }, 4],
  ] satisfies [string, FitCallback, number][])("may stop %s", async (_name, callback, made) => {
    const path = join(folder, "stopped");
    const training = await smallRun();
    const calls: unknown[] = [];
    const result = await training.fit(batches(2), {
      epochs: 5,
      save: { path },
      callbacks: [callback, witness(calls)],
    });
    expect(result).toEqual({ steps: made, made, ended: "stopped" });
    expect(calls.at(0)).toEqual(["start", { step: 0, epoch: 0 }]);
    expect(calls.at(-1)).toEqual(["end", result]);
    const resumed = await smallRun();
    if (made > 0) await resumed.load(path);
    await resumed.fit(batches(2), { epochs: 5 });
    expect(await stateOf(resumed)).toEqual(await byHand(Array.from({ length: 5 }, () => batches(2)).flat()));
  });

  it("stop by onStep too", async () => {
    const training = await smallRun();
    expect(await training.fit(batches(5), { onStep: () => "stop" })).toMatchObject({
      made: 1,
      ended: "stopped",
    });
  });

  it("get the end after the last save, and the abort", async () => {
    const path = join(folder, "end");
    const training = await smallRun();
    const ends: [FitEnd, number][] = [];
    const onEnd = async (end: FitEnd): Promise<void> => {
      const saved = await smallRun();
      await saved.load(path);
      ends.push([end, (await saved.counters()).iteration]);
    };
    await training.fit(batches(3), { save: { path }, callbacks: [{ onEnd }] });
    expect(ends).toEqual([[{ steps: 3, made: 3, ended: "epochs" }, 3]]);
    await training.fit(batches(3), { signal: AbortSignal.abort(), callbacks: [{ onEnd }] });
    expect(ends.at(-1)?.[0]).toMatchObject({ made: 0, ended: "aborted" });
  });

  it("get the error of a step, of the data or of another callback, which fit rejects with", async () => {
    const failure = new Error("enough");
    function* broken(): Generator<Data> {
      yield batch(0);
      throw failure;
    }
    const fails = (): never => {
      throw failure;
    };
    const wrong = [batch(0), { ...batch(1), x: batch(1).y }] as Data[];
    const cases: [Parameters<SmallTrainer["fit"]>[0], FitCallback, unknown][] = [
      [broken(), {}, failure],
      [wrong, {}, expect.objectContaining({ code: "MP_SHAPE_MISMATCH" })],
      [batches(1), { onEpoch: fails }, failure],
    ];
    for (const [data, callback, error] of cases) {
      const calls: unknown[] = [];
      const training = await smallRun();
      const callbacks = [{ onStep: () => {}, ...callback }, { onEnd: fails }, witness(calls)];
      await expect(training.fit(data, { callbacks })).rejects.toEqual(error);
      expect(calls.at(-1)).toEqual(["end", { steps: 1, made: 1, ended: "failed", error }]);
    }
  });

  it("may be instances of classes, whose state they keep", async () => {
    class Counter {
      count = 0;
      onStep(): "stop" | undefined {
        return ++this.count === 2 ? "stop" : undefined;
      }
    }
    const counter = new Counter();
    const training = await smallRun();
    expect((await training.fit(batches(9), { callbacks: [counter] })).made).toBe(2);
    expect(counter.count).toBe(2);
  });

  it.each([
    [{ onStep: () => {} }, "fit: callbacks must be a list: [{ onStep }], got an object with onStep"],
    [[() => {}], "fit: callbacks[0]: takes options such as { onStep }"],
    [[{ onStep: () => {} }, { onStep: 3 }], "fit: callbacks[1]: onStep must be a function, got 3"],
    [[{ onSteps: () => {} }], 'fit: callbacks[0]: has no option "onSteps"; did you mean onStep?'],
    [[{ onEpochEnd: () => {} }], "did you mean onEpoch?"],
    [[{}], "fit: callbacks[0] has none of onStart, onStep, onValidation, onEpoch, afterCallbacks, onEnd"],
    [[new Map()], "fit: callbacks[0] has none of onStart"],
  ])("are refused where nothing of them would be called: %o", async (callbacks, message) => {
    const training = await smallRun();
    const failing = training.fit(batches(1), { callbacks: callbacks as never });
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});

describe("steps", () => {
  it("makes the same steps and yields their results", async () => {
    const training = await smallRun();
    const want: StepResult[] = [];
    const other = await smallRun();
    for (const one of batches(5)) want.push(await other.step(one));
    const got: FitStep[] = [];
    for await (const step of training.steps(dataset(batches(5)))) got.push(step);
    expect(got).toMatchObject(want);
    expect(got.map(({ step, epoch }) => [step, epoch])).toEqual(want.map((_, index) => [index + 1, 0]));
    expect(got.map((step) => step.batches)).toEqual(batches(5).map((one) => [one]));
    expect(await stateOf(training)).toEqual(await stateOf(other));
  });

  it("makes a step when it is asked for, and none after a break", async () => {
    const training = await smallRun();
    const all = training.steps(batches(5));
    expect((await training.counters()).iteration).toBe(0);
    await all.next();
    expect((await training.counters()).iteration).toBe(1);
    for await (const { step } of all) if (step === 3) break;
    expect((await training.counters()).iteration).toBe(3);
    await training.step(batch(3));
  });

  it("makes one pass at a call, and leaves the place to fit and save", async () => {
    const training = await smallRun();
    for await (const { applied } of training.steps(batches(3))) expect(applied).toBe(true);
    for await (const step of training.steps(batches(3))) {
      expect([step.step, step.epoch]).toEqual([4, 1]);
      break;
    }
    expect((await training.counters()).iteration).toBe(4);
    expect(await training.fit(batches(3), { epochs: 2 })).toMatchObject({ made: 2 });
  });

  it("stops at a step that fails, with its error, and makes no further one", async () => {
    const training = await smallRun();
    const wrong = { ...batch(1), x: batch(1).y };
    const made: number[] = [];
    const loop = async (): Promise<void> => {
      for await (const { step } of training.steps([batch(0), wrong, batch(2)])) made.push(step);
    };
    await expect(loop()).rejects.toMatchObject({ code: "MP_SHAPE_MISMATCH" });
    expect(made).toEqual([1]);
    expect((await training.counters()).iteration).toBe(1);
  });

  it("ends between two microbatches at the trainer's signal", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const training = await smallRun({ accumulate: 500, signal });
    let seen = 0;
    for await (const _ of training.steps(batches(2000))) {
      seen++;
      setImmediate(() => controller.abort("enough"));
    }
    expect(seen).toBe(1);
    expect((await training.counters()).iteration).toBe(1);
  });

  it("ends at the signal, also while the batches of a step are gathered", async () => {
    const training = await smallRun({ accumulate: 3 });
    const controller = new AbortController();
    let taken = 0;
    function* source(): Generator<Data> {
      for (; taken < 9; taken++) {
        if (taken === 4) controller.abort();
        yield batch(taken);
      }
    }
    for await (const step of training.steps(source(), { signal: controller.signal })) {
      expect(step.step).toBe(1);
    }
    expect((await training.counters()).iteration).toBe(1);
    expect(taken).toBe(4);
  });
});
