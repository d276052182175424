import { readFileSync } from "node:fs";
import { type HostTensor, type Tensor, type TensorTree, type Tree, tensor } from "@mp/graph";
import { mul, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { runTrees, traceTrees } from "../../../graph/test/run-traced.js";
import { sgd } from "../optim/sgd.js";
import { dynamicLossScale, type LossScaler, staticLossScale } from "../precision/loss-scaler.js";
import { mixedFloat16 } from "../precision/presets.js";
import { trainer } from "../train/trainer.js";
import { scalerFrom, scalerStateTo } from "./convert-scaler.js";
import type { ScalerFramework, ScalerStates } from "./scaler-states.js";

interface Run<F extends ScalerFramework = ScalerFramework> {
  readonly framework: F;
  readonly state: ScalerStates[F];
  /** One digit per step; 1 for a finite step. */
  readonly finite: string;
  readonly scales: readonly number[];
  readonly after: ScalerStates[F];
}

const { runs } = JSON.parse(
  readFileSync(new URL("../../test/fixtures/framework-scales.json", import.meta.url), "utf8"),
) as { readonly runs: readonly Run[] };
const runsOf = (framework: ScalerFramework): readonly Run[] =>
  runs.filter((run) => run.framework === framework);
const FRAMEWORKS = ["pytorch", "keras", "deepspeed", "megatron"] as const;

/** The states that a scaler goes through, the first one before any step. */
function statesOf(scaler: LossScaler, finite: string): readonly Tree<HostTensor>[] {
  let state = runTrees({}, () => scaler.init());
  const states = [state];
  const dataOf = (flag: string) => ({ state, finite: tensor(Uint8Array.of(Number(flag)), [], "bool") });
  const update = traceTrees(dataOf("1"), (inputs) => {
    const { state: now, finite: flag } = inputs as { readonly state: TensorTree; readonly finite: Tensor };
    return scaler.update(now, flag);
  });
  for (const flag of finite) {
    state = update(dataOf(flag));
    states.push(state);
  }
  return states;
}

const scaleIn = (state: Tree<HostTensor>): number =>
  Number((state as unknown as { scale: HostTensor }).scale.data[0]);
const scalesOf = (scaler: LossScaler, finite: string): readonly number[] =>
  statesOf(scaler, finite).slice(1).map(scaleIn);

/** The part of a trainer that `scalerStateTo` needs, with the scaler in that state. */
const inState = (lossScaler: LossScaler, state: Tree<HostTensor>) => ({
  precision: { lossScaler },
  scalerState: () => Promise.resolve(state),
});

/** The part of a scaler's state that has an effect in its framework; counters without an effect are left out. */
function comparable(framework: ScalerFramework, state: ScalerStates[ScalerFramework]): unknown {
  const scaler = scalerFrom(framework, state);
  return { options: { ...scaler.options, initialScale: 0 }, start: runTrees({}, () => scaler.init()) };
}

describe.each(FRAMEWORKS)("%s", (framework) => {
  it("has runs with growth and overflows to compare with", () => {
    const scales = runsOf(framework).flatMap(({ scales }) => [scales]);
    expect(scales.length).toBeGreaterThanOrEqual(12);
    expect(
      scales.filter((run) => run.some((scale, i) => scale > (run[i - 1] ?? scale))).length,
    ).toBeGreaterThan(8);
    expect(
      scales.filter((run) => run.some((scale, i) => scale < (run[i - 1] ?? scale))).length,
    ).toBeGreaterThan(8);
  });

  it("gives the framework's next scales, exactly, from its state in the middle of a run", () => {
    for (const { state, finite, scales } of runsOf(framework)) {
      expect(scalesOf(scalerFrom(framework, state), finite), JSON.stringify(state)).toEqual(scales);
    }
  });

  it("comes to the framework's own state, and goes out and in again without a change", async () => {
    for (const { state, finite, after } of runsOf(framework)) {
      const scaler = scalerFrom(framework, state);
      const [first, last] = [statesOf(scaler, "")[0], statesOf(scaler, finite).at(-1)] as const;
      const written = await scalerStateTo(framework, inState(scaler, last as Tree<HostTensor>));
      expect(comparable(framework, written)).toEqual(comparable(framework, after));
      const back = await scalerStateTo(framework, inState(scaler, first as Tree<HostTensor>));
      expect(comparable(framework, back)).toEqual(comparable(framework, state));
      expect(
        await scalerStateTo(framework, inState(scalerFrom(framework, back), first as Tree<HostTensor>)),
      ).toEqual({ ...back });
    }
  });
});

it("PyTorch's and Keras's states go in and out with the same numbers", async () => {
  const pytorch = {
    scale: 4096,
    growth_factor: 2,
    backoff_factor: 0.5,
    growth_interval: 2000,
    _growth_tracker: 1234,
  };
  const keras = { dynamic_scale: 4096, step_counter: 17, dynamic_growth_steps: 200, initial_scale: 4096 };
  for (const [framework, state] of [
    ["pytorch", pytorch],
    ["keras", keras],
  ] as const) {
    const scaler = scalerFrom(framework, state);
    expect(
      await scalerStateTo(
        framework,
        inState(
          scaler,
          runTrees({}, () => scaler.init()),
        ),
      ),
    ).toEqual(state);
  }
});

describe("a trainer", () => {
  const weights = () => tensor(Float32Array.of(1, 2), [2]);
  const batch = { x: tensor(Float32Array.of(0.5, 0.25), [2]) };
  const overflowing = { x: tensor(Float32Array.of(Number.POSITIVE_INFINITY, 0), [2]) };
  const training = (lossScaler: LossScaler) =>
    reference().then((backend) =>
      trainer({
        backend,
        params: { w: weights() },
        loss: ({ w }, { x }: { x: Tensor }) => reduceSum(mul(w, x)),
        optimizer: sgd({ learningRate: 0 }),
        precision: { ...mixedFloat16(), lossScaler },
        onWarning: () => {},
      }),
    );

  it("goes on at the scale and the counter of the state, and gives them back", async () => {
    const state = {
      scale: 1024,
      growth_factor: 2,
      backoff_factor: 0.5,
      growth_interval: 5,
      _growth_tracker: 3,
    };
    await using run = await training(scalerFrom("pytorch", state));
    expect(await scalerStateTo("pytorch", run)).toEqual(state);
    const scales: number[] = [];
    for (const data of [batch, batch, overflowing, batch]) scales.push((await run.step(data)).scale);
    expect(scales).toEqual([1024, 1024, 2048, 1024]);
    expect(await scalerStateTo("pytorch", run)).toEqual({ ...state, _growth_tracker: 1 });
  });

  it("resumes from a checkpoint, not from the imported state", async () => {
    const state = {
      cur_scale: 1024,
      cur_iter: 3,
      last_overflow_iter: 2,
      scale_factor: 2,
      scale_window: 2,
      min_scale: 1,
      delayed_shift: 2,
      cur_hysteresis: 2,
      consecutive_hysteresis: false,
    };
    const lossScaler = scalerFrom("deepspeed", state);
    await using first = await training(lossScaler);
    for (const data of [batch, batch, batch, overflowing]) await first.step(data);
    const bytes = await first.saveBytes();
    await using second = await training(lossScaler);
    await second.loadBytes(bytes);
    const now = await scalerStateTo("deepspeed", second);
    expect(now).toEqual(await scalerStateTo("deepspeed", first));
    expect(now).toMatchObject({ cur_scale: 2048, cur_hysteresis: 1, cur_iter: 0 });
  });
});

describe("is refused, by the name of the field", () => {
  const pytorch = {
    scale: 8,
    growth_factor: 2,
    backoff_factor: 0.5,
    growth_interval: 10,
    _growth_tracker: 0,
  };
  const keras = { dynamic_scale: 8, step_counter: 0, dynamic_growth_steps: 10 };
  const deepspeed = {
    cur_scale: 8,
    cur_iter: 4,
    last_overflow_iter: 1,
    scale_factor: 2,
    scale_window: 10,
    min_scale: 1,
    delayed_shift: 2,
    cur_hysteresis: 2,
    consecutive_hysteresis: false,
  };
  const megatron = {
    scale: 8,
    growth_tracker: 0,
    hysteresis_tracker: 2,
    growth_factor: 2,
    backoff_factor: 0.5,
    growth_interval: 10,
    hysteresis: 2,
    min_scale: 1,
  };

  it.each<[string, () => unknown, "MP_UNSUPPORTED" | "MP_INVALID_ARGUMENT"]>([
    ["growth_factor", () => scalerFrom("pytorch", { ...pytorch, growth_factor: 1.1 }), "MP_UNSUPPORTED"],
    ["backoff_factor", () => scalerFrom("pytorch", { ...pytorch, backoff_factor: 0.9 }), "MP_UNSUPPORTED"],
    ["_growth_tracker", () => scalerFrom("pytorch", { ...pytorch, _growth_tracker: 10 }), "MP_UNSUPPORTED"],
    ["step_counter", () => scalerFrom("keras", { ...keras, step_counter: 10 }), "MP_UNSUPPORTED"],
    ["scale_factor", () => scalerFrom("deepspeed", { ...deepspeed, scale_factor: 3 }), "MP_UNSUPPORTED"],
    ["last_overflow_iter", () => scalerFrom("deepspeed", { ...deepspeed, cur_iter: 1 }), "MP_UNSUPPORTED"],
    ["cur_scale", () => scalerFrom("deepspeed", { ...deepspeed, min_scale: 16 }), "MP_UNSUPPORTED"],
    ["growth_tracker", () => scalerFrom("megatron", { ...megatron, growth_tracker: 10 }), "MP_UNSUPPORTED"],
    ["min_scale", () => scalerFrom("megatron", { ...megatron, min_scale: 1e-40 }), "MP_UNSUPPORTED"],
    [
      "scale",
      () => scalerFrom("pytorch", { ...pytorch, scale: Number.POSITIVE_INFINITY }),
      "MP_INVALID_ARGUMENT",
    ],
    ["scale", () => scalerFrom("pytorch", { ...pytorch, scale: 0 }), "MP_INVALID_ARGUMENT"],
    ["scale", () => scalerFrom("pytorch", { ...pytorch, scale: 1 / 3 }), "MP_INVALID_ARGUMENT"],
    [
      "cur_hysteresis",
      () => scalerFrom("deepspeed", { ...deepspeed, cur_hysteresis: 0 }),
      "MP_INVALID_ARGUMENT",
    ],
    ["scale", () => scalerFrom("pytorch", {} as typeof pytorch), "MP_INVALID_ARGUMENT"],
    [
      "hysteresis",
      () => scalerFrom("megatron", { ...megatron, hysteresis: undefined as never }),
      "MP_INVALID_ARGUMENT",
    ],
    [
      "tracker",
      () => scalerFrom("pytorch", { ...pytorch, tracker: 1 } as typeof pytorch),
      "MP_INVALID_ARGUMENT",
    ],
    ["framework", () => scalerFrom("torch" as "pytorch", pytorch), "MP_INVALID_ARGUMENT"],
  ])("%s", (field, make, code) => {
    expect(make).toThrow(expect.objectContaining({ code, message: expect.stringContaining(field) }));
  });

  it.each<[string, ScalerFramework, LossScaler]>([
    ["hysteresis", "pytorch", dynamicLossScale({ hysteresis: 2 })],
    ["growthDelay", "pytorch", dynamicLossScale({ growthDelay: 1 })],
    ["growthFactor", "keras", dynamicLossScale({ growthFactor: 4 })],
    ["growthDelay", "deepspeed", dynamicLossScale()],
    ["backoffFactor", "deepspeed", dynamicLossScale({ growthDelay: 1, backoffFactor: 0.25 })],
    ["refill", "megatron", dynamicLossScale({ hysteresis: 2 })],
    ["lossScaler", "pytorch", staticLossScale(8)],
  ])("%s, on the way to %s", async (field, framework, scaler) => {
    const state = runTrees({}, () => scaler.init());
    await expect(scalerStateTo(framework, inState(scaler, state))).rejects.toThrow(
      expect.objectContaining({ code: "MP_UNSUPPORTED", message: expect.stringContaining(field) }),
    );
  });
});
