import { readFileSync } from "node:fs";
import { type HostTensor, type Tensor, type TensorTree, type Tree, tensor } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { runTrees, traceTrees } from "../../../graph/test/run-traced.js";
import {
  type DynamicLossScaleOptions,
  dynamicLossScale,
  type LossScaler,
  noLossScaling,
  staticLossScale,
} from "./loss-scaler.js";

type Row = readonly [scale: number, goodSteps: number, tolerance: number];
const OK = true;
const OVERFLOW = false;

const stateOf = ([scale, goodSteps, tolerance]: Row): Tree<HostTensor> => ({
  scale: tensor(Float32Array.of(scale), []),
  goodSteps: tensor(Int32Array.of(goodSteps), []),
  tolerance: tensor(Int32Array.of(tolerance), []),
});

function rowOf(state: Tree<HostTensor>): Row {
  const { scale, goodSteps, tolerance } = state as Record<"scale" | "goodSteps" | "tolerance", HostTensor>;
  return [Number(scale.data[0]), Number(goodSteps.data[0]), Number(tolerance.data[0])];
}

/** State of a scaler after each step of a run, from its initial state or from `start`. */
function trace(options: DynamicLossScaleOptions, finite: readonly boolean[], start?: Row): readonly Row[] {
  const scaler: LossScaler = dynamicLossScale(options);
  let state = start === undefined ? runTrees({}, () => scaler.init()) : stateOf(start);
  const dataOf = (ok: boolean) => ({ state, finite: tensor(Uint8Array.of(ok ? 1 : 0), [], "bool") });
  const update = traceTrees(dataOf(true), (inputs) => {
    const { state: now, finite: flag } = inputs as { readonly state: TensorTree; readonly finite: Tensor };
    return scaler.update(now, flag);
  });
  return finite.map((ok) => {
    state = update(dataOf(ok));
    return rowOf(state);
  });
}

const scales = (rows: readonly Row[]): readonly number[] => rows.map(([scale]) => scale);
const times = (count: number, ok: boolean): boolean[] => Array.from({ length: count }, () => ok);

describe("dynamic loss scale", () => {
  it("starts as PyTorch's GradScaler does", () => {
    expect(rowOf(runTrees({}, () => dynamicLossScale().init()))).toEqual([65536, 0, 1]);
  });

  it("goes on inside its own bounds from a scale that other options made", () => {
    const scaler: LossScaler = dynamicLossScale({ initialScale: 8, minScale: 2, maxScale: 16 });
    const scaleAt = (scale: number) =>
      runTrees(stateOf([scale, 0, 1]), (state) => scaler.scale(state)) as HostTensor;
    expect([1, 2, 5, 16, 2 ** 30].map((scale) => scaleAt(scale).data[0])).toEqual([2, 2, 5, 16, 16]);
    expect(scales(trace({ initialScale: 8, maxScale: 16 }, [OVERFLOW], [2 ** 30, 0, 1]))).toEqual([16]);
  });

  it("grows after exactly N finite steps in a row, and counts anew", () => {
    expect(trace({ initialScale: 8, growthInterval: 3 }, times(7, OK))).toEqual([
      [8, 1, 1],
      [8, 2, 1],
      [16, 0, 1],
      [16, 1, 1],
      [16, 2, 1],
      [32, 0, 1],
      [32, 1, 1],
    ]);
    const defaults = trace({}, times(1, OK), [65536, 1998, 1]);
    expect(defaults).toEqual([[65536, 1999, 1]]);
    expect(trace({}, times(2, OK), [65536, 1998, 1]).at(-1)).toEqual([131072, 0, 1]);
  });

  it("grows at every step with an interval of 1", () => {
    expect(scales(trace({ initialScale: 1, growthInterval: 1 }, times(4, OK)))).toEqual([2, 4, 8, 16]);
  });

  it("backs off at once on overflow, which also ends the row of finite steps", () => {
    const steps = [OK, OK, OVERFLOW, OK, OK, OVERFLOW, OVERFLOW, OK, OK, OK];
    expect(trace({ initialScale: 8, growthInterval: 3 }, steps)).toEqual([
      [8, 1, 1],
      [8, 2, 1],
      [4, 0, 1],
      [4, 1, 1],
      [4, 2, 1],
      [2, 0, 1],
      [1, 0, 1],
      [1, 1, 1],
      [1, 2, 1],
      [2, 0, 1],
    ]);
  });

  it("stops at its floor and at its cap", () => {
    expect(scales(trace({ initialScale: 4, minScale: 2 }, times(3, OVERFLOW)))).toEqual([2, 2, 2]);
    const up = { initialScale: 4, maxScale: 8, growthInterval: 1 };
    expect(scales(trace(up, times(3, OK)))).toEqual([8, 8, 8]);
    expect(scales(trace({ initialScale: 3, minScale: 2, backoffFactor: 0.5 }, [OVERFLOW]))).toEqual([2]);
    expect(scales(trace({ initialScale: 3, maxScale: 4, growthInterval: 1 }, [OK]))).toEqual([4]);
  });

  it("has 1 as floor, and as cap the larger of 2^24 and its start, unless told", () => {
    expect(scales(trace({ initialScale: 1 }, [OVERFLOW]))).toEqual([1]);
    expect(scales(trace({ initialScale: 2 ** 24, growthInterval: 1 }, [OK]))).toEqual([2 ** 24]);
    expect(scales(trace({ initialScale: 2 ** 30, growthInterval: 1 }, [OK]))).toEqual([2 ** 30]);
    expect(scales(trace({ initialScale: 0.5, minScale: 0.125 }, times(3, OVERFLOW)))).toEqual([
      0.25, 0.125, 0.125,
    ]);
  });

  it("is never infinite: not by growth at the end of f32's range, not from a state that is", () => {
    const widest = { initialScale: 2 ** 126, maxScale: 2 ** 126, growthInterval: 1, growthFactor: 2 ** 100 };
    expect(scales(trace(widest, times(2, OK)))).toEqual([2 ** 126, 2 ** 126]);
    expect(scales(trace({ growthInterval: 1 }, [OK], [Number.POSITIVE_INFINITY, 0, 1]))).toEqual([2 ** 24]);
    expect(scales(trace({}, [OVERFLOW], [Number.POSITIVE_INFINITY, 0, 1]))).toEqual([2 ** 24]);
  });

  it("tolerates overflows that good steps are between (TransformerEngine's and Apex's rule)", () => {
    const steps = [OVERFLOW, OK, OVERFLOW, OVERFLOW, OVERFLOW, OK, OVERFLOW];
    expect(trace({ initialScale: 8, hysteresis: 2, growthInterval: 100 }, steps)).toEqual([
      [8, 0, 1],
      [8, 1, 2],
      [8, 0, 1],
      [4, 0, 1],
      [2, 0, 1],
      [2, 1, 2],
      [2, 0, 1],
    ]);
  });

  it("or refills its tolerance only when it grows (Megatron's rule)", () => {
    const steps = [OVERFLOW, OK, OVERFLOW, OK, OK, OVERFLOW, OVERFLOW];
    const options = { initialScale: 8, hysteresis: 2, growthInterval: 2, refill: "on-growth" } as const;
    expect(trace(options, steps)).toEqual([
      [8, 0, 1],
      [8, 1, 1],
      [4, 0, 1],
      [4, 1, 1],
      [8, 0, 2],
      [8, 0, 1],
      [4, 0, 1],
    ]);
  });
});

describe("the same scales as other implementations, over random runs", () => {
  const fixture = JSON.parse(
    readFileSync(new URL("../../test/fixtures/loss-scales.json", import.meta.url), "utf8"),
  ) as {
    readonly runs: readonly (Required<
      Pick<DynamicLossScaleOptions, "initialScale" | "growthFactor" | "backoffFactor" | "growthInterval">
    > & { readonly finite: readonly number[]; readonly scales: readonly number[] })[];
  };

  it.each(fixture.runs.map((run) => [run.growthInterval, run] as const))(
    "PyTorch's kernel, interval %i",
    (_interval, { finite, scales: want, ...options }) => {
      const free = { ...options, minScale: 2 ** -100, maxScale: 2 ** 100 };
      expect(scales(trace(free, finite.map(Boolean)))).toEqual(want);
    },
  );

  /** Draws finite steps and overflows from Park and Miller's generator. */
  function randomRun(seed: number, length: number, overflowRate: number): boolean[] {
    let x = seed;
    return Array.from({ length }, () => {
      x = (x * 48_271) % 2_147_483_647;
      return x / 2_147_483_647 >= overflowRate;
    });
  }

  /** The scales by `update_scale_hysteresis` of Apex and TransformerEngine. */
  function apex(finite: readonly boolean[], hysteresis: number, interval: number): number[] {
    let [scale, growth, tracker] = [2 ** 16, 0, hysteresis];
    return finite.map((ok) => {
      if (!ok && --tracker > 0) growth = 0;
      else if (!ok) [scale, growth] = [scale * 0.5, 0];
      else if (++growth === interval) [scale, growth] = [scale * 2, 0];
      if (ok) tracker = hysteresis;
      return scale;
    });
  }

  /** The scales by Megatron's `DynamicGradScaler.update`. */
  function megatron(finite: readonly boolean[], hysteresis: number, interval: number): number[] {
    let [scale, growth, tracker] = [2 ** 16, 0, hysteresis];
    return finite.map((ok) => {
      if (!ok) {
        growth = 0;
        tracker--;
        if (tracker <= 0) scale = Math.max(scale * 0.5, 1);
      } else if (++growth === interval) [scale, growth, tracker] = [scale * 2, 0, hysteresis];
      return scale;
    });
  }

  it.each([1, 2, 3])("Apex's and Megatron's, hysteresis %i", (hysteresis) => {
    for (const seed of [1, 2, 3]) {
      const finite = randomRun(seed, 60, 0.35);
      const options = { hysteresis, growthInterval: 3, maxScale: 2 ** 100 };
      expect(scales(trace({ ...options, minScale: 2 ** -100 }, finite))).toEqual(apex(finite, hysteresis, 3));
      expect(scales(trace({ ...options, refill: "on-growth" }, finite))).toEqual(
        megatron(finite, hysteresis, 3),
      );
    }
  });
});

describe("scalers without state", () => {
  it("scale by 1 or by one number throughout", () => {
    for (const [scaler, scale] of [
      [noLossScaling(), 1],
      [staticLossScale(128), 128],
    ] as const) {
      expect(scaler.init()).toEqual({});
      const now = runTrees({ finite: tensor(Uint8Array.of(0), [], "bool") }, (inputs) => ({
        scale: scaler.scale({}),
        next: scaler.update({}, (inputs as { readonly finite: Tensor }).finite),
      })) as { readonly scale: HostTensor; readonly next: unknown };
      expect([...now.scale.data]).toEqual([scale]);
      expect(now.next).toEqual({});
    }
  });
});

describe("options", () => {
  it.each([
    [
      () => staticLossScale(0),
      "staticLossScale: scale must be a number from 2^-126 to 2^126, so that f32 can divide by it, got 0",
    ],
    [() => staticLossScale(-8), /got -8/],
    [() => staticLossScale(Number.NaN), /got NaN/],
    [() => staticLossScale(2 ** 127), /scale must be a number from .*, got 1.7/],
    [() => staticLossScale(2 ** -127), /scale must be a number from .*, got 5.8/],
    [
      () => dynamicLossScale({ initialScale: 2 ** -127, minScale: 2 ** -130 }),
      /initialScale must be a number/,
    ],
    [() => dynamicLossScale({ minScale: 2 ** -127 }), /minScale must be a number from/],
    [() => dynamicLossScale({ initialScale: Number.POSITIVE_INFINITY }), /got Infinity/],
    [() => dynamicLossScale({ minScale: 0 }), /got 0/],
    [() => dynamicLossScale({ maxScale: 2 ** 127 }), /maxScale must be a number from/],
    [
      () => dynamicLossScale({ initialScale: 0.5, minScale: 1 }),
      "initialScale 0.5 is outside minScale 1 … maxScale 16777216",
    ],
    [() => dynamicLossScale({ initialScale: 8, maxScale: 4 }), /outside minScale 1 … maxScale 4/],
    [() => dynamicLossScale({ growthFactor: 0.5 }), "growthFactor must be ≥ 1, got 0.5"],
    [() => dynamicLossScale({ growthFactor: 1e39 }), /growthFactor/],
    [() => dynamicLossScale({ backoffFactor: 1 }), "backoffFactor must be between 0 and 1, got 1"],
    [() => dynamicLossScale({ backoffFactor: 0 }), /backoffFactor/],
    [() => dynamicLossScale({ growthInterval: 0 }), "growthInterval must be an integer ≥ 1, got 0"],
    [() => dynamicLossScale({ growthInterval: 1.5 }), /growthInterval/],
    [() => dynamicLossScale({ growthInterval: 2 ** 31 }), /growthInterval/],
    [
      () => dynamicLossScale({ refill: "never" as "on-growth" }),
      'refill must be "on-good-step" or "on-growth", got "never"',
    ],
    [() => dynamicLossScale({ hysteresis: 0 }), "hysteresis must be an integer ≥ 1, got 0"],
  ])("that could stall or explode the scale are refused: %s", (make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });

  it("at the edges of what f32 divides by are taken", () => {
    for (const scale of [2 ** -126, 2 ** 126]) expect(staticLossScale(scale).maxScale).toBe(scale);
    expect(dynamicLossScale({ initialScale: 2 ** 126, minScale: 2 ** -126 }).maxScale).toBe(2 ** 126);
    expect(dynamicLossScale({ initialScale: 0.5 })).toMatchObject({ minScale: 0.5, warnings: [] });
    expect(dynamicLossScale({ initialScale: 8 }).minScale).toBe(1);
  });

  it("that are no powers of two warn, each by name, with one that is near", () => {
    expect(staticLossScale(128).warnings).toEqual([]);
    expect(staticLossScale(2 ** -3).warnings).toEqual([]);
    // Only the initial scale warns: the cap follows from it, the user did not set it.
    expect(dynamicLossScale({ initialScale: 2 ** 24 + 1 }).warnings).toHaveLength(1);
    expect(dynamicLossScale().warnings).toEqual([]);
    expect(staticLossScale(1000).warnings).toEqual([
      "staticLossScale: scale 1000 is not a power of two, so scaling rounds the gradients; 1024 would not",
    ]);
    const { warnings } = dynamicLossScale({ initialScale: 10, growthFactor: 1.5, maxScale: 24 });
    expect(warnings?.map((warning) => warning.split(" ")[1])).toEqual([
      "initialScale",
      "maxScale",
      "growthFactor",
    ]);
  });
});
