import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { expand, literal, mul, sqrt } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { runTraced, runTrees } from "../../../graph/test/run-traced.js";
import { fixture, optimizers } from "../../test/peer-optimizers.js";
import { type HostTree, numbers, updatesOf, vector } from "../../test/updates-of.js";
import { adadelta } from "./adadelta.js";
import { adafactor } from "./adafactor.js";
import { adagrad } from "./adagrad.js";
import { adam, adamW } from "./adam.js";
import { adamax } from "./adamax.js";
import { chain } from "./chain.js";
import { clipByGlobalNorm, clipByValue } from "./clip.js";
import { globalNorm } from "./global-norm.js";
import { lamb } from "./lamb.js";
import { lars } from "./lars.js";
import { lion } from "./lion.js";
import { nadam } from "./nadam.js";
import type { Schedule } from "./optimizer.js";
import { radam } from "./radam.js";
import { rmsProp } from "./rms-prop.js";
import { clipByBlockRms, scaleByParameterRms } from "./root-mean-square.js";
import { scaleByAdam } from "./scale-by-adam.js";
import { scaleByLearningRate, scaleBySchedule } from "./scale-by-rate.js";
import { exponentialDecay } from "./schedules/exponential-decay.js";
import { settable } from "./settable.js";
import { momentum, sgd } from "./sgd.js";
import { scaleByTrustRatio } from "./trust-ratio.js";
import { addDecayedWeights, weightDecay } from "./weight-decay.js";

/** Relative error of f32 against doubles: a few roundings, without the cancellation in 1 - 0.999^t. */
const RELATIVE = 1e-6;

describe("optimizers make the updates that PyTorch makes in double precision", () => {
  it("of every case in the fixture", () => {
    expect(Object.keys(fixture.weights)).toEqual(Object.keys(optimizers));
  });

  it.each(Object.entries(optimizers))("%s", (name, optimizer) => {
    // Later on the decay of adamWStrong cancels nearly all of an update; peer-trajectories.test.ts has all twelve.
    const after = (fixture.weights[name] ?? []).slice(0, 5);
    const before = [fixture.start, ...after.slice(0, -1)];
    const updates = updatesOf(optimizer, fixture.gradients.slice(0, 5).map(vector), before.map(vector));
    for (const [step, row] of after.entries()) {
      const got = numbers(updates[step] as HostTensor);
      for (const [index, weight] of row.entries()) {
        const want = weight - (before[step]?.[index] ?? Number.NaN);
        // The difference of two doubles near 3 is itself good to 1e-15 only.
        const place = `step ${step}, weight ${index}: ${got[index]} for ${want}`;
        expect(Math.abs((got[index] ?? Number.NaN) - want), place).toBeLessThanOrEqual(
          RELATIVE * Math.abs(want) + 1e-14,
        );
      }
    }
  });

  it("clipping by the global norm over several parameters", () => {
    const { limit, norms, weights } = fixture.clipByGlobalNorm;
    const split = (row: readonly number[]): HostTree => ({
      a: vector(row.slice(0, 4)),
      b: vector(row.slice(4)),
    });
    const before = [fixture.start, ...weights.slice(0, -1)];
    const gradients = fixture.gradients.map(split);
    const optimizer = chain(clipByGlobalNorm(limit), sgd({ learningRate: 0.1 }));
    const updates = updatesOf(optimizer, gradients, before.map(split)) as { a: HostTensor; b: HostTensor }[];
    for (const [step, row] of weights.entries()) {
      const got = [...numbers(updates[step]?.a), ...numbers(updates[step]?.b)];
      for (const [index, weight] of row.entries()) {
        const want = weight - (before[step]?.[index] ?? Number.NaN);
        // torch divides by the norm + 1e-6.
        expect(got[index]).toBeCloseTo(want, 6);
      }
      const norm = runTrees(gradients[step] ?? {}, globalNorm) as HostTensor;
      expect(numbers(norm)[0]).toBeCloseTo(norms[step] ?? Number.NaN, 5);
    }
  });
});

describe("transformations", () => {
  it("clip by value, and leave alone what is inside", () => {
    const [updates] = updatesOf(clipByValue(2), [vector([-3, -1, 0, 2, 5])], [vector([0, 0, 0, 0, 0])]);
    expect(numbers(updates as HostTensor)).toEqual([-2, -1, 0, 2, 2]);
  });

  it("leave gradients within the norm bit for bit", () => {
    const gradient = vector([0.1, -0.2, 0.3]);
    const [updates] = updatesOf(clipByGlobalNorm(1), [gradient], [gradient]);
    expect(updates).toEqual(gradient);
  });

  it("the norm of nothing is 0, of infinities infinite", () => {
    expect(numbers(runTraced({}, () => globalNorm({})))).toEqual([0]);
    const tree = { a: vector([1, Number.POSITIVE_INFINITY]) };
    expect(numbers(runTraced(tree, (inputs) => globalNorm(inputs)))).toEqual([Number.POSITIVE_INFINITY]);
  });
});

describe("Adam", () => {
  it("has the first update of size η whatever the gradient's, down to ε", () => {
    const gradients = [vector([1e-3, -1e4, 1, 1e-20])];
    const [updates] = updatesOf(adam({ learningRate: 0.5 }), gradients, gradients);
    const [small, large, one, none] = numbers(updates as HostTensor);
    expect(small).toBeCloseTo(-0.5, 4);
    expect(large).toBeCloseTo(0.5, 6);
    expect(one).toBeCloseTo(-0.5, 6);
    // 1e-20 squared is 0 in f32: the divisor is ε alone, which does not round to 0.
    expect(none).toBeCloseTo(-0.5 * 1e-12, 14);
  });

  it("leaves a weight alone that has no gradient, with the smallest ε there is", () => {
    const none = [vector([0, -0]), vector([0, 0])];
    const makers = [
      adam,
      adamW,
      rmsProp,
      adagrad,
      adamax,
      nadam,
      radam,
      adadelta,
      adafactor,
      lamb,
      lars,
      lion,
    ];
    for (const make of makers) {
      const options = make === lion ? { learningRate: 1 } : { learningRate: 1, epsilon: 2 ** -100 };
      for (const update of updatesOf(make(options), none, none)) {
        expect(numbers(update as HostTensor).map(Math.abs)).toEqual([0, 0]);
      }
    }
    expect(() => adam({ learningRate: 1, epsilon: 1e-44 })).toThrow(/adam: epsilon must be at least/);
  });

  it("keeps the largest second moment with amsgrad", () => {
    const gradients = [vector([100]), ...Array.from({ length: 8 }, () => vector([0.1]))];
    const lastOf = (amsgrad: boolean): number => {
      const updates = updatesOf(adam({ learningRate: 1, beta2: 0.5, amsgrad }), gradients, gradients);
      return Math.abs(numbers(updates.at(-1) as HostTensor)[0] ?? Number.NaN);
    };
    expect(lastOf(true)).toBeLessThan(lastOf(false) / 5);
  });

  it("corrects its bias to the last places after 1 and after 100 000 steps", () => {
    for (const [step, want] of [
      [0, 1],
      [99_999, 0.1 / 1 / Math.sqrt(0.001 / -Math.expm1(100_000 * Math.log(0.999)))],
    ] as const) {
      const zero = vector([0]);
      const data = { moment: zero, gradient: vector([2]), step: tensor(Int32Array.of(step), []) };
      const updates = runTraced(data, ({ moment, gradient, step }) => {
        const state = { mean: moment, square: moment };
        return adam({ learningRate: 1 }).update(gradient, state, gradient, { step }).updates as Tensor;
      });
      expect(Math.abs(numbers(updates)[0] ?? 0) / want).toBeCloseTo(1, 6);
    }
  });
});

describe("options that were left out", () => {
  it.each([
    [sgd, "sgd: takes options such as { learningRate: 0.1 }, got undefined"],
    [momentum, "momentum: takes options"],
    [adagrad, "adagrad: takes options"],
    [rmsProp, "rmsProp: takes options"],
    [adam, "adam: takes options such as { learningRate: 1e-3 }, got undefined"],
    [adamW, "adamW: takes options"],
    [adamax, "adamax: takes options"],
    [nadam, "nadam: takes options"],
    [radam, "radam: takes options"],
    [lamb, "lamb: takes options"],
    [lars, "lars: takes options"],
    [lion, "lion: takes options such as { learningRate: 1e-4 }, got undefined"],
  ])("%o are asked for", (optimizer, message) => {
    const make = (): unknown => (optimizer as (options?: unknown) => unknown)();
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });
});

describe("hyperparameters", () => {
  it.each([
    [() => sgd({ learningRate: Number.NaN }), "sgd: learningRate must be at least 0 in f32, got NaN"],
    [() => sgd({ learningRate: "0.1" as never }), 'sgd: learningRate must be at least 0 in f32, got "0.1"'],
    [() => sgd({ learningRate: null as never }), "sgd: learningRate must be at least 0 in f32, got null"],
    [() => sgd({ learningRate: -1 }), "sgd: learningRate must be at least 0 in f32, got -1"],
    [
      () => momentum({ learningRate: 1, momentum: 1 }),
      "momentum: momentum must be at least 0 and below 1 in f32, got 1",
    ],
    [() => adam({ learningRate: 1e39 }), "adam: learningRate must be at least 0 in f32, got 1e+39"],
    [() => adam({ learningRate: 1, beta2: 0.99999999999 }), /adam: beta2 .* below 1 in f32/],
    [() => adam({ learningRate: 1, beta1: -0.1 }), /beta1/],
    [
      () => adam({ learningRate: 1, epsilon: 1e-50 }),
      /^adam: epsilon must be at least 7.888609052210118e-31 in f32, got 1e-50/,
    ],
    [() => adamW({ learningRate: 1, weightDecay: -1 }), /weightDecay/],
    [() => adagrad({ learningRate: 1, epsilon: 0 }), /epsilon/],
    [() => adagrad({ learningRate: 1, initialAccumulator: -1 }), /initialAccumulator/],
    [() => rmsProp({ learningRate: 1, decay: 1 }), /decay/],
    [() => clipByGlobalNorm(0), "clipByGlobalNorm: the limit must be a number ≥ 2^-40, finite in f32, got 0"],
    [() => clipByValue(Number.NaN), /clipByValue/],
    [() => weightDecay(Number.POSITIVE_INFINITY), /weightDecay/],
    [() => addDecayedWeights(-1), "addDecayedWeights: the decay must be at least 0 in f32, got -1"],
    [() => scaleByLearningRate(-1), "scaleByLearningRate: the rate must be at least 0 in f32, got -1"],
    [() => scaleBySchedule(0.1 as never), "scaleBySchedule: the schedule must be a function, got 0.1"],
    [() => clipByBlockRms(0), "clipByBlockRms: the threshold must be above 0 in f32, got 0"],
    [() => scaleByParameterRms(-1), "scaleByParameterRms: the smallest must be at least 0 in f32, got -1"],
    [() => scaleByTrustRatio({ trustCoefficient: 0 }), /scaleByTrustRatio: trustCoefficient must be above 0/],
    [
      () => momentum({ learningRate: 1, nesterov: true, dampening: 0.1 }),
      "momentum: nesterov takes no dampening, got 0.1",
    ],
    [
      () => adam({ learningRate: 1, amsgrad: 1 as never }),
      'adam: amsgrad must be false or true or "corrected", got 1',
    ],
    [
      () => adam({ learningRate: 1, amsgrad: "corrected", epsilonHat: true }),
      'adam: amsgrad "corrected" takes no epsilonHat',
    ],
    [() => scaleByAdam({ betas: [0.9, 0.99] } as never), /scaleByAdam: .* did you mean beta1 and beta2\?/],
    [() => adafactor({ clipThreshold: 0 }), "adafactor: clipThreshold must be above 0 in f32, got 0"],
    [
      () => adafactor({ clipThreshold: true as never }),
      "adafactor: clipThreshold must be a number or false, got true",
    ],
    [
      () => adafactor({ learningRate: settable(0.1) }),
      /^adafactor: a settable rate .* set relativeStep: false/,
    ],
    [() => nadam({ learningRate: 1, weightDecay: 0.1 } as never), /use chain\(weightDecay\(1e-4\), nadam\(/],
  ])("are refused: %s", (make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });
});

describe("a schedule that gives no scalar is refused:", () => {
  it.each<readonly [string, () => unknown, string, string]>([
    ["a rate for each element", () => expand(literal(0.1), [2]), "MP_SHAPE_MISMATCH", "got Tensor f32[2]"],
    ["a list of one", () => expand(literal(0.1), [1]), "MP_SHAPE_MISMATCH", "got Tensor f32[1]"],
    ["a count", () => literal(1, "i32"), "MP_DTYPE_MISMATCH", "got Tensor i32[]"],
    ["nothing", () => undefined, "MP_INVALID_ARGUMENT", "got undefined"],
  ])("%s", (_name, rate, code, message) => {
    const gradients = [vector([1, 2])];
    const update = (): unknown => updatesOf(sgd({ learningRate: rate as Schedule }), gradients, gradients);
    expect(update).toThrow(`learningRate: a schedule gives a floating scalar tensor, ${message}`);
    expect(update).toThrow(expect.objectContaining({ code }));
  });
});

it.each<[string, Schedule, string]>([
  ["with a fraction", (step) => mul(step, 0.5), "MP_OUT_OF_RANGE"],
  ["with a float", (step) => mul(step, literal(0.5)), "MP_DTYPE_MISMATCH"],
  ["in an operator of floats", (step) => sqrt(step), "MP_DTYPE_MISMATCH"],
])("a schedule that uses the step %s is told to cast it", (_name, learningRate, code) => {
  const update = (): unknown => updatesOf(sgd({ learningRate }), [vector([1])], [vector([1])]);
  expect(update).toThrow(/; a schedule gets the step as i32, compute with cast\(step, "f32"\)$/);
  expect(update).toThrow(expect.objectContaining({ code }));
});

it("a schedule that fails for another reason is told nothing of the step", () => {
  const learningRate: Schedule = () => mul(literal(1), literal(1, "i64"));
  const update = (): unknown => updatesOf(sgd({ learningRate }), [vector([1])], [vector([1])]);
  expect(update).toThrow(/operands are f32 and i64; cast one of them( \(at .*\))?$/);
});

it("a schedule reads the count of applied steps that it is given", () => {
  const optimizer = sgd({ learningRate: exponentialDecay(1, { decay: 0.5, every: 1 }) });
  const gradients = Array.from({ length: 4 }, () => vector([1]));
  expect(updatesOf(optimizer, gradients, gradients).map((row) => numbers(row as HostTensor))).toEqual([
    [-1],
    [-0.5],
    [-0.25],
    [-0.125],
  ]);
});
