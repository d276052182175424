// A user's own scaler, optimizer and way of keeping weights, in traced operators: they run inside the one graph.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Key, mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import {
  add,
  cast,
  div,
  expand,
  greater,
  literal,
  maximum,
  mul,
  randomUniform,
  reduceMean,
  sign,
  sub,
  where,
} from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { chain } from "../../src/optim/chain.js";
import type { Optimizer } from "../../src/optim/optimizer.js";
import type { LossScaler } from "../../src/precision/loss-scaler.js";
import type { MasterWeights } from "../../src/precision/master-weights.js";
import { float32, mixedFloat16 } from "../../src/precision/presets.js";
import { batch, type SmallOptions, type SmallTrainer, smallRun, stateOf } from "../small-run.js";

/** Halves on overflow, grows by a sixteenth on every good step, and counts both. */
type CautiousState = {
  readonly scale: Tensor;
  readonly counts: { readonly good: Tensor; readonly bad: Tensor };
};
const cautious: LossScaler<CautiousState> = {
  name: "cautious",
  init: () => ({ scale: literal(2 ** 20), counts: { good: literal(0, "i32"), bad: literal(0, "i32") } }),
  scale: ({ scale }) => scale,
  update: ({ scale, counts: { good, bad } }, finite) => ({
    scale: where(finite, mul(scale, 1 + 1 / 16), maximum(mul(scale, 0.5), 1)),
    counts: {
      good: add(good, where(finite, literal(1, "i32"), 0)),
      bad: add(bad, where(finite, literal(0, "i32"), 1)),
    },
  }),
};

/** Lion (Chen et al., arXiv 2302.06675). */
const lion = (rate: number): Optimizer<{ readonly m: TensorTree }> => ({
  name: "lion",
  init: (parameters) => ({ m: mapTensors((leaf) => expand(literal(0), leaf.shape), parameters) }),
  update: (gradients, { m }, _parameters, { step }) => {
    const decay = div(rate, add(cast(step, "f32"), 1));
    const mix = (mean: Tensor, g: Tensor, beta: number): Tensor => add(mul(mean, beta), mul(g, 1 - beta));
    return {
      updates: mapTensors((mean, g) => mul(sign(mix(mean, g, 0.9)), mul(decay, -1)), m, gradients),
      state: { m: mapTensors((mean, g) => mix(mean, g, 0.99), m, gradients) },
    };
  },
});

/** f32 masters with a slow average beside them, and a little noise on every update. */
type AveragedState = { readonly fast: TensorTree; readonly slow: TensorTree };
const averaged: MasterWeights<AveragedState> = {
  name: "averaged",
  init: (parameters) => ({ fast: parameters, slow: parameters }),
  parameters: ({ fast }) => fast,
  apply: ({ fast, slow }, updates, key: Key) => {
    const noisy = (weight: Tensor, update: Tensor): Tensor =>
      add(weight, mul(update, add(mul(randomUniform(key, weight.shape), 0.1), 0.95)));
    const next = mapTensors(noisy, fast, updates);
    return { fast: next, slow: mapTensors((s, f) => add(mul(s, 0.9), mul(f, 0.1)), slow, next) };
  },
};

const options: Partial<SmallOptions> = {
  precision: {
    ...mixedFloat16(),
    lossScaler: cautious,
    masterWeights: averaged,
  },
  optimizer: lion(0.01),
};

describe("parts of one's own", () => {
  it("run inside the graph: one program a step, which says nothing to the host but the step's numbers", async () => {
    const real = await reference();
    const runs: string[][] = [];
    const backend = Object.create(real, {
      manifest: { value: real.manifest },
      compile: {
        value: async (...given: Parameters<typeof real.compile>) => {
          const executable = await real.compile(...given);
          return Object.create(executable, {
            warnings: { value: [] },
            dispose: { value: () => executable.dispose() },
            run: {
              value: async (inputs: Parameters<typeof executable.run>[0]) => {
                const outputs = await executable.run(inputs);
                runs.push(Object.keys(outputs).sort());
                return outputs;
              },
            },
          }) as typeof executable;
        },
      },
      createState: { value: (values: Parameters<typeof real.createState>[0]) => real.createState(values) },
    }) as typeof real;
    const training = await smallRun({ ...options, backend });
    runs.length = 0;
    await training.step(batch(0));
    await training.step(batch(1));
    const reported = ["again", "applied", "consecutiveSkips", "gradNorm", "loss", "metrics/error", "scale"];
    expect(runs).toEqual([reported, reported]);
    const names = training.graph(batch(0)).inputs.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        "state/scaler/counts/bad",
        "state/optimizer/m/hidden/w",
        "state/master/slow/out",
      ]),
    );
  });

  it("skip and commit as those of the SDK do", async () => {
    const training = await smallRun(options);
    const scales: number[] = [];
    let last = 2 ** 20;
    for (let step = 0; step < 12; step++) {
      const before = await training.parameters();
      const { applied, scale } = await training.step(batch(step));
      expect(scale).toBe(last);
      last = applied ? scale * (1 + 1 / 16) : scale / 2;
      if (!applied) expect(await training.parameters()).toEqual(before);
      scales.push(applied ? 1 : 0);
    }
    expect(new Set(scales)).toEqual(new Set([0, 1]));
  });

  it("are retried until their state rests", async () => {
    const training = await smallRun({ ...options, onOverflow: "retry", maxRetries: 30 });
    expect(await training.step(batch(0))).toMatchObject({
      applied: true,
      retries: expect.any(Number) as number,
    });
    const poisoned = { ...batch(0), y: { ...batch(0).y, data: new Float32Array(4).fill(Number.NaN) } };
    // It counts overflows, so its state never rests: the bound ends it.
    expect(await training.step(poisoned)).toMatchObject({ applied: false, retries: 30 });
  });

  it("resume bit for bit", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mp-custom-"));
    const path = join(folder, "run");
    const steps = async (training: SmallTrainer, from: number): Promise<unknown[]> => {
      const results: unknown[] = [];
      for (let step = from; step < from + 4; step++) results.push(await training.step(batch(step)));
      return results;
    };
    const straight = await smallRun(options);
    await steps(straight, 0);
    await straight.save(path);
    const resumed = await smallRun(options);
    await resumed.load(path);
    expect(await steps(resumed, 4)).toEqual(await steps(straight, 4));
    expect(await stateOf(resumed)).toEqual(await stateOf(straight));
    await rm(folder, { recursive: true });
  });
});

describe("parts that do not keep their state's structure", () => {
  const broken = (changes: Partial<LossScaler<CautiousState>>): Partial<SmallOptions> => ({
    precision: { ...mixedFloat16(), lossScaler: { ...cautious, ...changes } },
  });
  it.each<readonly [string, Partial<SmallOptions>, string, string]>([
    [
      "drop a part",
      broken({ update: ({ scale }) => ({ scale }) as CautiousState }),
      "MP_INVALID_ARGUMENT",
      "next state: scaler/counts/bad is missing; a state's update returns the structure, shapes and dtypes of its init",
    ],
    [
      "add a part",
      broken({ update: (state) => ({ ...state, more: state.scale }) }),
      "MP_INVALID_ARGUMENT",
      "next state: scaler/more is new",
    ],
    [
      "change a dtype",
      broken({ update: (state) => ({ ...state, scale: cast(state.scale, "f16") }) }),
      "MP_DTYPE_MISMATCH",
      "next state: scaler/scale is f16[] instead of f32[]",
    ],
    [
      "change a shape",
      {
        optimizer: {
          ...lion(1),
          update: (g, s, p, c) => ({
            ...lion(1).update(g, s as never, p, c),
            state: { m: mapTensors((x) => expand(sub(literal(0), 1), [7, ...x.shape]), g) },
          }),
        },
      },
      "MP_SHAPE_MISMATCH",
      "next state: optimizer/m/hidden/b is f32[7, 4] instead of f32[4]",
    ],
    [
      "return nothing from update",
      { optimizer: { ...lion(1), update: () => undefined as never } },
      "MP_INVALID_ARGUMENT",
      "optimizer lion: update returns { updates, state }, got undefined",
    ],
    [
      "return updates alone",
      { optimizer: { ...lion(1), update: (updates) => ({ updates }) as never } },
      "MP_INVALID_ARGUMENT",
      "optimizer lion: update returns { updates, state }, got an object with updates",
    ],
    [
      "return nothing inside a chain",
      { optimizer: chain({ ...lion(1), update: () => undefined as never }) },
      "MP_INVALID_ARGUMENT",
      "optimizer lion: update returns { updates, state }, got undefined",
    ],
    [
      "return updates of another shape",
      {
        optimizer: {
          ...lion(1),
          update: (g, s) => ({ updates: mapTensors((x) => reduceMean(x), g), state: s }),
        },
      },
      "MP_SHAPE_MISMATCH",
      "optimizer lion: updates/hidden/b is f32[] instead of f32[4]; updates have the structure",
    ],
    [
      "return updates in a half",
      {
        optimizer: {
          ...lion(1),
          update: (g, s) => ({ updates: mapTensors((x) => cast(x, "f16"), g), state: s }),
        },
      },
      "MP_DTYPE_MISMATCH",
      "optimizer lion: updates/hidden/b is f16[4] instead of f32[4]",
    ],
    [
      "leave an update out inside a chain",
      {
        optimizer: chain(
          {
            kind: "gradient",
            name: "half",
            init: () => ({}),
            update: (_g, s) => ({ updates: {}, state: s }),
          },
          lion(1),
        ),
      },
      "MP_INVALID_ARGUMENT",
      "optimizer half: updates/hidden/b is missing",
    ],
    [
      "return one update too many",
      {
        optimizer: {
          ...lion(1),
          update: (g, s) => ({ updates: { ...(g as object), more: literal(1) }, state: s }),
        },
      },
      "MP_INVALID_ARGUMENT",
      "optimizer lion: updates/more has no gradient",
    ],
    [
      "return nothing from a scaler's update",
      broken({ update: () => undefined as never }),
      "MP_INVALID_ARGUMENT",
      "next state at scaler: a tree holds tensors, arrays and plain objects, got undefined",
    ],
    [
      "return no scale",
      broken({ scale: () => undefined as never }),
      "MP_INVALID_ARGUMENT",
      "a scale must be an f32 scalar, got undefined",
    ],
  ])("%s and are refused by name", async (_name, wrong, code, message) => {
    const training = await smallRun({ precision: float32(), ...wrong });
    const step = training.step(batch(0));
    await expect(step).rejects.toThrow(message);
    await expect(step).rejects.toMatchObject({ code });
  });

  it("or whose scale is no scalar", async () => {
    const training = await smallRun(broken({ scale: ({ scale }) => expand(scale, [2]) }));
    await expect(training.step(batch(0))).rejects.toMatchObject({ code: "MP_SHAPE_MISMATCH" });
    const flag = await smallRun(broken({ scale: ({ scale }) => greater(scale, 0) }));
    await expect(flag.step(batch(0))).rejects.toMatchObject({ code: "MP_DTYPE_MISMATCH" });
  });
});
