import { describe, expect, it } from "vitest";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf } from "../../../test/small-run.js";
import { bytesOfTensors, tensorsOfBytes } from "../../checkpoint/bytes.js";
import { settable } from "../../optim/settable.js";
import { sgd } from "../../optim/sgd.js";
import type { TrainingWarning } from "../definition/warning.js";
import type { StreamedMetrics } from "../metrics/streamed-metric.js";
import type { FitCallback, FitPosition, FitStart, FitValidation } from "./callback.js";
import type { Json } from "./json.js";

type Data = ReturnType<typeof batch>;
const batches = (count: number): Data[] => Array.from({ length: count }, (_, index) => batch(index));

/** Adds up losses, and saves the trainer where it is asked to. */
class Sum implements FitCallback {
  sum = 0;
  readonly loaded: Json[] = [];
  readonly state;
  constructor(name = "sum") {
    this.state = {
      name,
      save: (): Json => ({ sum: this.sum }),
      load: (saved: Json): void => {
        this.loaded.push(saved);
        this.sum = (saved as { readonly sum: number }).sum;
      },
    };
  }
  onStep({ loss }: { readonly loss: number }): void {
    this.sum += loss;
  }
}

describe("the state of a callback", () => {
  it("continues from a checkpoint with the same bits, whoever saved it", async () => {
    const whole = new Sum();
    await (await smallRun()).fit(batches(4), { epochs: 2, callbacks: [whole] });
    for (const at of [1, 4, 6]) {
      const first = await smallRun();
      let bytes = new Uint8Array();
      const saving: FitCallback = {
        afterCallbacks: async ({ step }) => {
          if (step === at) bytes = await first.saveBytes();
        },
      };
      // The saving callback precedes the one whose state it saves.
      await first.fit(batches(4), { epochs: 2, callbacks: [saving, new Sum()] });
      const second = await smallRun();
      await second.loadBytes(bytes);
      const resumed = new Sum();
      await second.fit(batches(4), { epochs: 2, callbacks: [resumed] });
      expect(resumed.loaded).toHaveLength(1);
      expect(resumed.sum).toBe(whole.sum);
      expect(await stateOf(second)).toEqual(await stateOf(first));
    }
  });

  it("is in what is saved after fit, and goes on in its next call, also of another object", async () => {
    const whole = new Sum();
    await (await smallRun()).fit(batches(3), { epochs: 2, callbacks: [whole] });
    const training = await smallRun();
    await training.fit(batches(3), { callbacks: [new Sum()] });
    const next = new Sum();
    await training.fit(batches(3), { callbacks: [next] });
    expect(next.sum).toBe(whole.sum);
    const loaded = await smallRun();
    await loaded.loadBytes(await training.saveBytes());
    // A call without the callback keeps its state.
    await loaded.fit(batches(3), { onStep: () => "stop" });
    const last = new Sum();
    await loaded.fit(batches(3), { callbacks: [last, { onStart: () => "stop" }] });
    expect(last.loaded).toEqual([{ sum: whole.sum }]);
  });

  it("is warned of once, by name, where a checkpoint and the callbacks differ", async () => {
    const first = await smallRun();
    await first.fit(batches(2), { callbacks: [new Sum("best"), new Sum("sum")] });
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({ onWarning: (warning) => warnings.push(warning) });
    await training.loadBytes(await first.saveBytes());
    const taken = async (...names: string[]) => {
      await training.fit(batches(2), { callbacks: names.map((name) => new Sum(name)) });
      return warnings.splice(0).map(({ type, message, details }) => [type, message, details]);
    };
    expect(await taken("sum", "rates")).toEqual([
      ["checkpoint", expect.stringMatching(/has a state of "best" .+: pass it/), { callback: "best" }],
      [
        "checkpoint",
        expect.stringMatching(/no state of "rates", which starts new: .+ give it/),
        { callback: "rates" },
      ],
    ]);
    expect(await taken("other")).toEqual([]);
    await training.loadBytes(await first.saveBytes());
    expect(await taken("best", "sum")).toEqual([]);
  });

  it("survives a call that failed", async () => {
    const training = await smallRun();
    const callback = new Sum();
    const fails: FitCallback = {
      onStep: ({ step }) => {
        if (step === 2) throw new Error("enough");
      },
    };
    await expect(training.fit(batches(3), { callbacks: [callback, fails] })).rejects.toThrow("enough");
    const next = new Sum();
    await training.fit(batches(3), { callbacks: [next, { onStart: () => "stop" }] });
    expect(next.sum).toBe(callback.sum);
    expect(next.sum).toBeGreaterThan(0);
  });

  it("is not there in files without one, which are as before", async () => {
    const training = await smallRun();
    await training.fit(batches(2), { callbacks: [{ onStep: () => {} }] });
    const bytes = await training.saveBytes();
    expect(new TextDecoder().decode(bytes)).not.toContain("callbacks");
    const resumed = await smallRun();
    await resumed.loadBytes(bytes);
    const callback = new Sum();
    await resumed.fit(batches(2), { epochs: 2, callbacks: [callback] });
    expect(callback.loaded).toEqual([]);
  });

  it.each([
    [
      [new Sum("a"), new Sum("a")],
      'fit: callbacks: two callbacks have a state named "a"; give one of them another name',
    ],
    [
      [{ onStep: () => {}, state: {} }],
      "fit: callbacks[0]: state must be { name, save(), load(saved) } with a",
    ],
    [
      [{ onStep: () => {}, state: 3 }],
      "fit: callbacks[0]: state must be { name, save(), load(saved) } with a",
    ],
    [[{ state: new Sum().state }], "fit: callbacks[0] has none of onStart, onStep,"],
  ])("is refused where it could not be saved: %#", async (callbacks, message) => {
    const failing = (await smallRun()).fit(batches(1), { callbacks: callbacks as never });
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });

  it("is refused if it is not JSON", async () => {
    const callback = new Sum();
    callback.sum = Number.NaN;
    const failing = (await smallRun()).fit(batches(1), { callbacks: [callback] });
    await expect(failing).rejects.toThrow("the state of the callback sum/sum: is no JSON value, got NaN");
  });

  it("makes fit fail with what load throws, and is refused in a garbled file", async () => {
    const training = await smallRun();
    await training.fit(batches(1), { callbacks: [new Sum()] });
    const foreign = { onStep: () => {}, state: { ...new Sum().state, load: () => "x".repeat(-1) } };
    await expect(training.fit(batches(1), { callbacks: [foreign as never] })).rejects.toThrow(RangeError);
    const { tensors, metadata } = tensorsOfBytes(await training.saveBytes());
    expect(metadata["callbacks"]).toMatch(/^{"sum":{"sum":[0-9.]+}}$/);
    for (const callbacks of ["[1]", "{", "3"]) {
      const garbled = bytesOfTensors({ tensors, metadata: { ...metadata, callbacks } });
      await expect((await smallRun()).loadBytes(garbled)).rejects.toMatchObject({
        code: "MP_CHECKPOINT_MISMATCH",
      });
    }
  });
});

describe("validation", () => {
  type Seen = FitValidation<"error", StreamedMetrics>;
  const watched = async (
    validation: NonNullable<Parameters<SmallTrainer["fit"]>[1]>["validation"],
    options: Partial<SmallOptions> = {},
  ) => {
    const training = await smallRun(options);
    const events: unknown[] = [];
    const seen: Seen[] = [];
    const callback: FitCallback<string, unknown, FitPosition, Seen> = {
      onStart: ({ validates }) => void events.push(["start", validates]),
      onStep: ({ step }) => void events.push(["step", step]),
      onValidation: (result) => {
        events.push(["validation", result.step, result.epoch]);
        seen.push(result);
      },
      onEpoch: ({ step }) => void events.push(["epoch", step]),
      afterCallbacks: ({ step }) => void events.push(["after", step]),
    };
    await training.fit(batches(2), { epochs: 2, callbacks: [callback], ...(validation && { validation }) });
    return { training, events, seen };
  };

  it("evaluates the whole set at the end of each pass, before onEpoch", async () => {
    const data = [batch(7), batch(8)];
    const { training, events, seen } = await watched({ data });
    expect(events).toEqual([
      ["start", true],
      ...[1, 2].flatMap((step) => [
        ["step", step],
        ["after", step],
      ]),
      ["validation", 2, 0],
      ["epoch", 2],
      ["after", 2],
      ...[3, 4].flatMap((step) => [
        ["step", step],
        ["after", step],
      ]),
      ["validation", 4, 1],
      ["epoch", 4],
      ["after", 4],
    ]);
    const [one, two] = [await training.evaluate(batch(7)), await training.evaluate(batch(8))];
    expect(seen[1]?.loss).toBeCloseTo((one.loss + two.loss) / 2, 12);
    expect(seen[1]?.metrics["error"]).toBeCloseTo((one.metrics.error + two.metrics.error) / 2, 12);
    expect(seen[1]).toMatchObject({ samples: 8, batches: 2 });
  });

  it("evaluates every so many steps instead, and changes nothing", async () => {
    const { training, events } = await watched({ data: [batch(7)], every: 3 });
    expect(events.filter((event) => (event as unknown[])[0] === "validation")).toEqual([
      ["validation", 3, 1],
    ]);
    const without = await watched(undefined);
    expect(without.events[0]).toEqual(["start", false]);
    expect(await stateOf(training)).toEqual(await stateOf(without.training));
  });

  it("may stop training", async () => {
    const training = await smallRun();
    const result = await training.fit(batches(2), {
      epochs: 5,
      validation: { data: [batch(7)] },
      callbacks: [{ onValidation: ({ epoch }) => (epoch === 1 ? "stop" : undefined) }],
    });
    expect(result).toEqual({ steps: 4, made: 4, ended: "stopped" });
  });

  it.each([
    [{}, "fit: validation: data must be"],
    [{ data: [batch(1)], every: 0 }, "fit: validation: every must be an integer ≥ 1, got 0"],
    [{ data: [batch(1)].values() }, "fit: validation: data is evaluated more than once, and a generator"],
    [{ dataset: [] }, 'fit: validation: has no option "dataset"; did you mean data?'],
  ])("refuses %o", async (validation, message) => {
    const failing = (await smallRun()).fit(batches(1), { validation: validation as never });
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});

describe("what a callback gets of the run", () => {
  it("is where it ends, and the rates that can be set", async () => {
    const training = await smallRun({ optimizer: sgd({ learningRate: settable(0.5) }) });
    const starts: FitStart[] = [];
    const callback: FitCallback = {
      onStart: async (start) => {
        starts.push(start);
        expect(await start.training.rates()).toEqual({ default: 0.5 });
        await start.training.setRates({ default: 0.25 });
        expect(await start.training.rates()).toEqual({ default: 0.25 });
      },
    };
    await training.fit(batches(2), { epochs: 3, callbacks: [callback] });
    expect(starts).toMatchObject([{ step: 0, epoch: 0, epochs: 3, steps: undefined }]);
    const fixed = await smallRun();
    await fixed.fit(batches(2), {
      steps: 1,
      callbacks: [
        {
          onStart: async (start) => {
            starts.push(start);
            expect(await start.training.rates()).toEqual({});
          },
        },
      ],
    });
    expect(starts[1]).toMatchObject({ steps: 1, epochs: undefined });
  });
});
