import type { Backend } from "@mp/graph";
import { mul } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { staticLossScale } from "../../src/precision/loss-scaler.js";
import { float32 } from "../../src/precision/presets.js";
import type { Traced } from "../../src/train/definition/loss.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { batch, type SmallParams, smallRun, stateOf } from "../small-run.js";

const disposed = { code: "MP_DISPOSED" };

/** The batches of that many steps, each in the arrays of the one before. */
function* refilled(steps: number): Generator<ReturnType<typeof batch>> {
  const arrays = batch(0);
  for (let step = 0; step < steps; step++) {
    const { x, y } = batch(step);
    arrays.x.data.set(x.data);
    arrays.y.data.set(y.data);
    yield arrays;
  }
}

describe("calls that are not awaited", () => {
  it("run one after the other, in the order of the calls", async () => {
    const [together, apart] = [await smallRun(), await smallRun()];
    const results = await Promise.all([
      together.step(batch(0)),
      together.counters(),
      together.step(batch(1)),
      together.evaluate(batch(5)),
      together.step(batch(2)),
    ]);
    const first = await apart.step(batch(0));
    const counters = await apart.counters();
    const second = await apart.step(batch(1));
    const evaluated = await apart.evaluate(batch(5));
    expect(results).toEqual([first, counters, second, evaluated, await apart.step(batch(2))]);
    expect(await stateOf(together)).toEqual(await stateOf(apart));
  });

  it("read the batch at the call, so that its arrays may be refilled at once", async () => {
    const [refilling, fresh] = [await smallRun(), await smallRun()];
    const steps = Array.from(refilled(3), (given) => refilling.step(given));
    const expected = [0, 1, 2].map((step) => fresh.step(batch(step)));
    expect(await Promise.all(steps)).toEqual(await Promise.all(expected));
    expect(await stateOf(refilling)).toEqual(await stateOf(fresh));
  });

  it("accumulate microbatches that are one array, refilled", async () => {
    const [refilling, fresh] = [await smallRun({ accumulate: 2 }), await smallRun({ accumulate: 2 })];
    await refilling.fit(refilled(4));
    await fresh.fit([0, 1, 2, 3].map((step) => batch(step)));
    expect(await stateOf(refilling)).toEqual(await stateOf(fresh));
  });

  it("fail on their own", async () => {
    const training = await smallRun();
    const [first, wrong, second] = await Promise.allSettled([
      training.step(batch(0)),
      training.step({ ...batch(0), x: batch(0).y }),
      training.step(batch(1)),
    ]);
    expect([first.status, wrong.status, second.status]).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await training.counters()).iteration).toBe(2);
  });
});

describe("dispose", () => {
  it("waits for the step under way, and then nothing is left on the engine", async () => {
    const backend = await reference();
    const training = await smallRun({ backend, accumulate: 2 });
    await training.step(batch(0), batch(1));
    await training.evaluate(batch(0));
    const running = training.step(batch(2), batch(3));
    const disposing = training.dispose();
    const late = training.step(batch(4), batch(5));
    await expect(late).rejects.toMatchObject(disposed);
    expect((await running).applied).toBe(true);
    await disposing;
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it("happens once, whoever asks", async () => {
    const training = await smallRun();
    expect(training.dispose()).toBe(training.dispose());
    await training[Symbol.asyncDispose]();
    await training.dispose();
  });

  it("ends a fit that is under way, and a loop of steps", async () => {
    const training = await smallRun();
    const fitting = training.fit([batch(0), batch(1)], { onStep: () => void training.dispose() });
    await expect(fitting).rejects.toMatchObject(disposed);
    const other = await smallRun();
    const loop = async (): Promise<void> => {
      for await (const _ of other.steps([batch(0), batch(1)])) await other.dispose();
    };
    await expect(loop()).rejects.toMatchObject(disposed);
  });

  it("leaves nothing that can be called", async () => {
    const training = await smallRun();
    await training.dispose();
    const calls: readonly (() => unknown)[] = [
      () => training.step(batch(0)),
      () => training.fit([batch(0)]),
      () => training.steps([batch(0)]).next(),
      () => training.evaluate(batch(0)),
      () => training.predict(({ out }) => out, {}),
      () => training.parameters(),
      () => training.modelState(),
      () => training.counters(),
      () => training.save("/nowhere"),
      () => training.load("/nowhere"),
      () => training.diagnose([batch(0)]),
      () => training.profile(batch(0)),
      () => training.peakBytes(),
      async () => training.graph(batch(0)),
      async () => training.explain(batch(0)),
    ];
    for (const call of calls) await expect(call(), String(call)).rejects.toMatchObject(disposed);
  });

  it("after the backend's own is no error, and calls say what has gone", async () => {
    const backend = await reference();
    const training = await smallRun({ backend });
    await training.step(batch(0));
    await backend.dispose();
    await expect(training.step(batch(1))).rejects.toMatchObject(disposed);
    await training.dispose();
  });

  it("frees the rest when one program cannot be freed, and reports it", async () => {
    const real = await reference();
    const failure = new Error("stuck");
    let stuck = 0;
    const backend: Backend = {
      name: "sticky",
      specVersion: "v1",
      manifest: real.manifest,
      createState: (values) => real.createState(values),
      upload: (tensor) => real.upload(tensor),
      download: (handle) => real.download(handle),
      stats: () => real.stats(),
      dispose: () => real.dispose(),
      compile: async (graph, options) => {
        const executable = await real.compile(graph, options);
        if (options?.bindings === undefined || stuck++ !== 1) return executable;
        return {
          warnings: executable.warnings,
          run: (inputs) => executable.run(inputs),
          dispose: async () => {
            await executable.dispose();
            throw failure;
          },
        };
      },
    };
    const training = await smallRun({ backend });
    await training.step(batch(0));
    await training.evaluate(batch(0));
    await training.parameters();
    await expect(training.dispose()).rejects.toBe(failure);
    expect(real.stats().live).toBe(0);
  });
});

const refuse = ({ message }: TrainingWarning): never => {
  throw new Error(`refused: ${message}`);
};

it("functions to predict with keep their programs apart, also where the warning of many is an error", async () => {
  const training = await smallRun({ onWarning: refuse });
  const factors = [1, 2, 3, 4].map(
    (factor) =>
      ({ out }: Traced<SmallParams>) =>
        mul(out, factor),
  );
  const predicted: unknown[] = [];
  for (const predict of factors) {
    const first = () => training.predict(predict, {});
    predicted.push((await first().catch(first)).data[0]);
  }
  const weight = (await training.parameters()).out.data[0] ?? 0;
  expect(predicted).toEqual([1, 2, 3, 4].map((factor) => Math.fround(weight * factor)));
});

describe("start", () => {
  it("leaves nothing behind where it fails", async () => {
    const backend = await reference();
    const wrong = smallRun({
      backend,
      optimizer: {
        name: "broken",
        init: () => {
          throw new RangeError("mine");
        },
        update: () => expect.fail("not reached"),
      },
    });
    await expect(wrong).rejects.toThrow(RangeError);
    expect(backend.stats().live).toBe(0);
  });

  it("leaves nothing behind where a warning is answered with an error", async () => {
    const backend = await reference();
    const lossScaler = staticLossScale(3);
    const starting = smallRun({ backend, precision: { ...float32(), lossScaler }, onWarning: refuse });
    await expect(starting).rejects.toThrow(/^refused: staticLossScale: scale 3/);
    expect(backend.stats()).toEqual({ live: 0, bytes: 0 });
  });

  it.each([
    [{ accumulate: 0 }, "trainer: accumulate must be an integer ≥ 1, got 0"],
    [{ accumulate: 1.5 }, /accumulate/],
    [{ maxRetries: 0 }, /maxRetries/],
    [{ maxConsecutiveSkips: Number.NaN }, /maxConsecutiveSkips/],
    [{ programs: 0 }, /trainer: programs must be an integer ≥ 1, got 0/],
    [{ clipNorm: 0 }, "trainer: clipNorm must be a number ≥ 2^-40, finite in f32, got 0"],
    [{ clipNorm: Number.POSITIVE_INFINITY }, /clipNorm/],
    [{ onOverflow: "ignore" as never }, 'trainer: onOverflow must be "skip" or "retry", got "ignore"'],
    [{ seed: 0.5 }, /seed must be an integer/],
    [{ params: {} as never }, "params: the tree holds no tensors"],
    [{ params: { out: [1, 2] } as never }, /params at out\/0: a tree holds tensors/],
    [{ params: { out: new Map() } as never }, /got Map/],
  ])("refuses %o", async (options, message) => {
    const starting = smallRun(options);
    await expect(starting).rejects.toThrow(message);
    await expect(starting).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });

  it("refuses parameters that are not f32, naming the path", async () => {
    const { w } = { w: { dtype: "f16", shape: [1], data: Uint16Array.of(0) } as const };
    const starting = smallRun({ params: { hidden: { w, b: w }, out: w } as never });
    await expect(starting).rejects.toThrow(
      "params at hidden/b: parameters that are trained must be f32, got f16",
    );
    await expect(starting).rejects.toMatchObject({ code: "MP_DTYPE_MISMATCH" });
  });
});

it("warnings are received once each, and kept", async () => {
  const received: TrainingWarning[] = [];
  const { mixedFloat16 } = await import("../../src/precision/presets.js");
  const training = await smallRun({
    precision: mixedFloat16(),
    onWarning: (warning) => void received.push(warning),
  });
  await training.step(batch(0));
  await training.step(batch(0, 3));
  await training.evaluate(batch(0));
  expect(received.map(({ type, message }) => [type, message])).toEqual([
    ["emulated", "reference: f16 is emulated: same results as f16, memory of f32, no faster than f32"],
  ]);
  expect(training.warnings).toEqual(received);
});
