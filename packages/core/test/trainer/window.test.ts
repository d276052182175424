import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Backend, type HostTensor, tensor } from "@mp/graph";
import { add, matMul, mul, reduceMean, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale } from "../../src/precision/loss-scaler.js";
import { stochasticRounding } from "../../src/precision/master-weights.js";
import { bfloat16, float32, mixedFloat16 } from "../../src/precision/presets.js";
import type { AllReduce } from "../../src/train/objective/window-reduction.js";
import { trainer } from "../../src/train/trainer.js";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf, wave } from "../small-run.js";

const identity: AllReduce = async (window) => window;

describe("a window of microbatches", () => {
  it("makes the step that one batch of them all makes", async () => {
    const start = async (accumulate: number) =>
      trainer({
        backend: await reference(),
        params: { w: wave([3, 1], 1) },
        loss: ({ w }, { x, y }) => {
          const error = sub(matMul(x, w), y);
          return { loss: reduceMean(mul(error, error)), metrics: { bias: reduceMean(error) } };
        },
        optimizer: sgd({ learningRate: 0.1 }),
        precision: float32(),
        clipNorm: 0.5,
        accumulate,
      });
    const [whole, parts] = [await start(1), await start(4)];
    const { x, y } = batch(3, 8);
    const slice = (data: HostTensor<"f32">, width: number, part: number): HostTensor<"f32"> =>
      tensor(data.data.slice(part * 2 * width, (part + 1) * 2 * width), [2, width]);
    const one = await whole.step({ x, y });
    const four = await parts.step(
      ...[0, 1, 2, 3].map((part) => ({ x: slice(x, 3, part), y: slice(y, 1, part) })),
    );
    for (const name of ["loss", "gradNorm"] as const) expect(four[name]).toBeCloseTo(one[name], 5);
    expect(four.metrics.bias).toBeCloseTo(one.metrics.bias, 6);
    const [a, b] = [(await whole.parameters()).w, (await parts.parameters()).w];
    for (const [index, weight] of a.data.entries()) expect(b.data[index]).toBeCloseTo(weight, 6);
  });

  it("adds the gradients where it is told to: twice the mean's of two, and the same loss", async () => {
    const options = { accumulate: 2, precision: float32(), optimizer: sgd({ learningRate: 0 }) };
    const [mean, sum] = [await smallRun(options), await smallRun({ ...options, accumulation: "sum" })];
    const [one, other] = [await mean.step(batch(0), batch(1)), await sum.step(batch(0), batch(1))];
    expect(other.gradNorm).toBe(2 * one.gradNorm);
    expect(other.loss).toBe(one.loss);
    const warnings: string[] = [];
    const loaded = await smallRun({ ...options, onWarning: ({ message }) => void warnings.push(message) });
    await loaded.loadBytes(await sum.saveBytes());
    expect(warnings).toEqual(["loadBytes: goes on under other settings, accumulate 2 instead of sum of 2"]);
  });

  it("takes exactly as many batches as were promised", async () => {
    const training = await smallRun({ accumulate: 2 });
    for (const given of [[], [batch(0)], [batch(0), batch(1), batch(2)]]) {
      const step = training.step(...given);
      await expect(step).rejects.toThrow(`step: takes 2 batches (accumulate), got ${given.length}`);
    }
    await expect((await smallRun()).step(batch(0), batch(1))).rejects.toThrow("takes one batch, got 2");
  });

  it("draws other masks for each microbatch", async () => {
    const training = await smallRun({ accumulate: 2, optimizer: sgd({ learningRate: 0 }) });
    const same = await training.step(batch(0), batch(0));
    const whole = await smallRun({ optimizer: sgd({ learningRate: 0 }) });
    const losses = [(await whole.step(batch(0))).loss, (await whole.step(batch(0))).loss];
    // Iteration 0 of two microbatches reads the counters that iterations 0 and 1 of one read.
    expect(same.loss).toBeCloseTo(((losses[0] ?? 0) + (losses[1] ?? 0)) / 2, 6);
    expect(losses[0]).not.toBe(losses[1]);
  });

  it("rounds its update at random as one batch does, and otherwise at each step", async () => {
    const start = async (more: Partial<SmallOptions>) =>
      trainer({
        backend: await reference(),
        // Steps of bf16 are 2^-7 here, and each update a quarter of one.
        params: { w: tensor(new Float32Array(256).fill(1), [256]) },
        loss: ({ w }, _: Readonly<Record<never, never>>) => mul(reduceMean(w), -256),
        optimizer: sgd({ learningRate: 2 ** -9 }),
        precision: { ...bfloat16(), masterWeights: stochasticRounding() },
        accumulate: more.accumulate ?? 1,
        ...(more.allReduce === undefined ? {} : { allReduce: more.allReduce }),
        onWarning: () => undefined,
      });
    const [one, hooked, two] = [
      await start({}),
      await start({ allReduce: identity }),
      await start({ accumulate: 2 }),
    ];
    for (let step = 0; step < 8; step++) {
      await one.step({});
      await hooked.step({});
      await two.step({}, {});
    }
    expect(await hooked.parameters()).toEqual(await one.parameters());
    for (const training of [one, two]) {
      const moved = (await training.parameters()).w.data.filter((weight) => weight > 1).length / 256;
      // 1 - (3/4)^8; it would stay at 1/4 if every step drew the same.
      expect(Math.abs(moved - 0.9)).toBeLessThan(0.06);
    }
  });

  it("passes model state from microbatch to microbatch, and commits it with the step or not at all", async () => {
    const training = await smallRun({ accumulate: 3 });
    await training.step(batch(0), batch(1), batch(2));
    expect((await training.modelState()).seen.data[0]).toBe(3);
    const before = await training.modelState();
    const poisoned = { ...batch(3), x: tensor(new Float32Array(12).fill(Number.NaN), [4, 3]) };
    expect((await training.step(batch(3), poisoned, batch(4))).applied).toBe(false);
    expect(await training.modelState()).toEqual(before);
    await training.step(batch(0), batch(1), batch(2));
    expect((await training.modelState()).seen.data[0]).toBe(6);
  });

  it("is skipped whole when one microbatch is not finite, wherever it stands", async () => {
    const poisoned = { ...batch(1), y: tensor(new Float32Array(4).fill(Number.POSITIVE_INFINITY), [4, 1]) };
    for (const at of [0, 1, 2]) {
      const training = await smallRun({ accumulate: 3 });
      await training.step(batch(0), batch(1), batch(2));
      const before = await training.parameters();
      const window = [batch(3), batch(4), batch(5)].map((good, index) => (index === at ? poisoned : good));
      expect((await training.step(...window)).applied).toBe(false);
      expect(await training.parameters()).toEqual(before);
      expect(await training.counters()).toMatchObject({ applied: 1, iteration: 2, skipped: 1 });
    }
  });
});

/** A backend whose runs of a program with that output fail at the given call. */
async function failingAt(call: number, marker: string): Promise<Backend> {
  const real = await reference();
  let calls = 0;
  return {
    name: "failing",
    specVersion: "v1",
    manifest: real.manifest,
    createState: (values) => real.createState(values),
    upload: (given) => real.upload(given),
    download: (handle) => real.download(handle),
    stats: () => real.stats(),
    dispose: () => real.dispose(),
    compile: async (graph, options) => {
      const executable = await real.compile(graph, options);
      const isMarked = graph.outputs.some(({ name }) => name === marker);
      return {
        warnings: [],
        run: async (inputs) => {
          if (isMarked && calls++ === call) throw new Error("the engine gave up");
          return executable.run(inputs);
        },
        dispose: () => executable.dispose(),
      };
    },
  };
}

/** After a window that failed, the next one is as if it had never been tried. */
async function expectUntouched(
  options: Partial<SmallOptions>,
  failing: (training: SmallTrainer) => Promise<unknown>,
  message: RegExp,
): Promise<void> {
  const [training, other] = [
    await smallRun(options),
    await smallRun({ ...options, backend: await reference() }),
  ];
  const first = [batch(0), batch(1)];
  expect(await training.step(...first)).toEqual(await other.step(...first));
  await expect(failing(training)).rejects.toThrow(message);
  const next = [batch(4), batch(5)];
  expect(await training.step(...next)).toEqual(await other.step(...next));
  expect(await stateOf(training)).toEqual(await stateOf(other));
}

describe("a window that fails half-way", () => {
  it("at a microbatch that does not compile is thrown away", async () => {
    const wrong = { ...batch(3), x: wave([4, 2], 1) };
    await expectUntouched(
      { accumulate: 2 },
      (training) => training.step(batch(2), wrong),
      /inner sizes differ/,
    );
  });

  it("at a microbatch that the engine fails on is thrown away", async () => {
    const backend = await failingAt(3, "metrics/error");
    const step = (training: SmallTrainer) => training.step(batch(2), batch(3));
    await expectUntouched({ accumulate: 2, backend }, step, /the engine gave up/);
  });

  it("at its application is thrown away", async () => {
    const backend = await failingAt(1, "applied");
    const step = (training: SmallTrainer) => training.step(batch(2), batch(3));
    await expectUntouched({ accumulate: 2, backend }, step, /the engine gave up/);
  });

  it("in the all-reduce hook is thrown away", async () => {
    let calls = 0;
    const allReduce: AllReduce = async (window) => {
      if (calls++ === 1) throw new Error("a peer is gone");
      return window;
    };
    const options = { accumulate: 2, allReduce };
    const training = await smallRun(options);
    const other = await smallRun({ accumulate: 2, allReduce: identity });
    expect(await training.step(batch(0), batch(1))).toEqual(await other.step(batch(0), batch(1)));
    await expect(training.step(batch(2), batch(3))).rejects.toThrow("a peer is gone");
    expect(await training.step(batch(4), batch(5))).toEqual(await other.step(batch(4), batch(5)));
    expect(await stateOf(training)).toEqual(await stateOf(other));
  });

  it("whose remains cannot be thrown away either reports both", async () => {
    const real = await reference();
    const backend: Backend = {
      name: "dying",
      specVersion: "v1",
      manifest: real.manifest,
      createState: async (values) => {
        const state = await real.createState(values);
        return {
          types: state.types,
          read: (names) => state.read(names),
          write: async () => {
            throw new Error("no writing");
          },
          dispose: () => state.dispose(),
        };
      },
      upload: (given) => real.upload(given),
      download: (handle) => real.download(handle),
      stats: () => real.stats(),
      dispose: () => real.dispose(),
      // The program that makes the first state has one input; what it is for comes later.
      compile: async (graph) => {
        if (graph.inputs.length === 1) return real.compile(graph);
        throw new Error("no compiling");
      },
    };
    const params = { w: wave([1], 1) };
    const training = await trainer({
      backend,
      params,
      loss: ({ w }, { x }) => reduceMean(add(w, x)),
      optimizer: sgd({ learningRate: 1 }),
      precision: float32(),
      accumulate: 2,
    });
    const failing = training.step({ x: wave([1], 1) }, { x: wave([1], 1) });
    await expect(failing).rejects.toMatchObject({
      errors: [{ message: "no compiling" }, { message: "no writing" }],
    });
  });

  it("and a profiled microbatch leave nothing behind", async () => {
    const [training, other] = [await smallRun({ accumulate: 2 }), await smallRun({ accumulate: 2 })];
    expect((await training.profile(batch(7))).length).toBeGreaterThan(3);
    expect(await training.step(batch(0), batch(1))).toEqual(await other.step(batch(0), batch(1)));
  });
});

describe("the all-reduce hook", () => {
  it("gets the sums by name, and two runs that share them step alike", async () => {
    const seen: string[][] = [];
    const plain = await smallRun({ accumulate: 2, allReduce: identity });
    const doubled = await smallRun({
      accumulate: 2,
      allReduce: async (window) => {
        seen.push(Object.keys(window).sort());
        // As if two processes had the same gradients, and took the mean.
        return Object.fromEntries(
          Object.entries(window).map(([name, { shape, data }]) => {
            const mean = Float32Array.from(data as Float32Array, (x) => (x + x) / 2);
            return [name, tensor(mean, shape)];
          }),
        );
      },
    });
    expect(await doubled.step(batch(0), batch(1))).toEqual(await plain.step(batch(0), batch(1)));
    expect(seen).toEqual([
      [
        "window/gradients/hidden/b",
        "window/gradients/hidden/w",
        "window/gradients/out",
        "window/loss",
        "window/poison",
      ],
    ]);
    expect(await stateOf(doubled)).toEqual(await stateOf(plain));
  });

  it("skips here what is not finite elsewhere", async () => {
    for (const [name, value] of [
      ["window/gradients/out", Number.POSITIVE_INFINITY],
      ["window/loss", Number.NaN],
      ["window/poison", Number.NaN],
    ] as const) {
      const training = await smallRun({
        allReduce: async (window) => {
          const { shape, data } = window[name] as HostTensor<"f32">;
          return { ...window, [name]: tensor(new Float32Array(data.length).fill(value), shape) };
        },
      });
      const before = await training.parameters();
      expect((await training.step(batch(0))).applied, name).toBe(false);
      expect(await training.parameters()).toEqual(before);
    }
  });

  it("is asked again for a batch that is retried at a lower scale", async () => {
    let calls = 0;
    const training = await smallRun({
      precision: {
        ...mixedFloat16(),
        lossScaler: dynamicLossScale({ initialScale: 2 ** 24 }),
      },
      onOverflow: "retry",
      allReduce: async (window) => {
        calls++;
        return window;
      },
    });
    const { retries, applied } = await training.step(batch(0));
    expect(applied).toBe(true);
    expect(retries).toBeGreaterThan(2);
    expect(calls).toBe(retries + 1);
  });

  const change =
    (changes: Readonly<Record<string, unknown>>): AllReduce =>
    async (window) =>
      Object.fromEntries(
        Object.entries({ ...window, ...changes }).filter(([, value]) => value !== undefined),
      ) as typeof window;

  it.each([
    [
      async () => undefined as never,
      "MP_INVALID_ARGUMENT",
      "allReduce: returned undefined; it gives back every tensor it was given",
    ],
    [async () => ({}), "MP_INVALID_ARGUMENT", /allReduce: window\/\S+ is missing/],
    [
      change({ "window/gradients/out": undefined }),
      "MP_INVALID_ARGUMENT",
      "allReduce: window/gradients/out is missing",
    ],
    [
      change({ "master/out": wave([4, 1], 1) }),
      "MP_INVALID_ARGUMENT",
      "allReduce: master/out is not of the window",
    ],
    [change({ "window/loss": 3 }), "MP_INVALID_ARGUMENT", "allReduce: window/loss is no tensor"],
    [
      change({ "window/gradients/out": wave([4], 1) }),
      "MP_SHAPE_MISMATCH",
      "allReduce: window/gradients/out is f32[4] instead of f32[4, 1]",
    ],
    [
      change({ "window/loss": tensor(Int32Array.of(1), []) }),
      "MP_DTYPE_MISMATCH",
      "allReduce: window/loss is i32[] instead of f32[]",
    ],
  ])("that gives back something else is refused: %#", async (allReduce, code, message) => {
    let isWrong = true;
    const training = await smallRun({
      allReduce: (window) => (isWrong ? (allReduce as AllReduce)(window) : identity(window)),
    });
    const before = await stateOf(training);
    const step = training.step(batch(0));
    await expect(step).rejects.toThrow(message);
    await expect(step).rejects.toMatchObject({ code });
    expect(await stateOf(training)).toEqual(before);
    isWrong = false;
    const other = await smallRun({ allReduce: identity });
    expect(await training.step(batch(1))).toEqual(await other.step(batch(1)));
  });
});

it.each<readonly [string, (training: SmallTrainer) => Promise<unknown>]>([
  ["counters", (training) => training.counters()],
  ["dispose", (training) => training.dispose()],
  ["step", (training) => training.step(batch(0))],
])("a hook that waits for %s of its own trainer is refused", async (_, call) => {
  let asks = true;
  const training: SmallTrainer = await smallRun({
    allReduce: async (window) => {
      if (asks) await call(training);
      return window;
    },
  });
  const step = training.step(batch(0));
  await expect(step).rejects.toThrow("allReduce: calls its own trainer, which waits for allReduce");
  await expect(step).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  asks = false;
  expect(await training.step(batch(0))).toMatchObject({ applied: true });
});

it("a window that is given up between two microbatches changes nothing", async () => {
  const controller = new AbortController();
  const training = await smallRun({ accumulate: 500, signal: controller.signal });
  const window = Array.from({ length: 500 }, (_, place) => batch(place));
  await training.step(...window);
  const before = await stateOf(training);
  // Once the first microbatches have been gathered.
  setImmediate(() => controller.abort(new Error("stop now")));
  await expect(training.step(...window)).rejects.toThrow("stop now");
  expect(await stateOf(training)).toEqual(before);
  expect((await training.counters()).iteration).toBe(1);
  await expect(smallRun({ signal: true as never })).rejects.toThrow(
    "trainer: signal is true; pass that of an AbortController",
  );
});

it("a window starts from the model state that was loaded", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mp-window-"));
  const path = join(folder, "run");
  const training = await smallRun({ accumulate: 2 });
  await training.step(batch(0), batch(1));
  await training.save(path);
  const fresh = await smallRun({ accumulate: 2 });
  await fresh.load(path);
  expect(await fresh.step(batch(2), batch(3))).toEqual(await training.step(batch(2), batch(3)));
  expect((await fresh.modelState()).seen.data[0]).toBe(4);
  // A window is no part of the file: one batch a step may go on from it.
  const whole = await smallRun();
  await whole.load(path);
  expect((await whole.step(batch(2))).applied).toBe(true);
  await rm(folder, { recursive: true });
});
