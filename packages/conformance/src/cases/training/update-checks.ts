/** Loss and gradients are finite, but what the update would write is not: none of it may reach a master weight. */
import {
  adagrad,
  adam,
  chain,
  float32,
  type HostTensor,
  kahan,
  type LossFunction,
  type LossScaler,
  type MasterWeights,
  mapTensors,
  momentum,
  noMasterWeights,
  type Optimizer,
  type Precision,
  rmsProp,
  type Shape,
  sgd,
  type Tensor,
  type TensorTree,
  tensor,
  weightDecay,
} from "@mp/core";
import { encodeArray } from "@mp/core/graph";
import { add, cast, expand, literal, mul, reduceSum, sqrt } from "@mp/core/ops";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual } from "../../expectations.js";
import { fresh } from "../../fresh.js";
import type { Tensors } from "../../graph-case.js";
import { type Fed, filled, linear, type NoModel, vector, type WeightsOf } from "../../training/problems.js";
import { scenarioCase } from "../../training/scenario.js";
import { expectUnmoved, withTrainer } from "../../training/session.js";

const NONE: Precision = float32();
const kept = (masterWeights: MasterWeights): Precision => ({ ...NONE, masterWeights });

/** Its update or its state is not finite where the gradient is above 100. */
function faulty(where: "updates" | "state"): Optimizer {
  // √(100 - |g|): NaN above 100, and 0 · NaN is NaN.
  const wrong = (g: Tensor): Tensor => mul(sqrt(add(mul(g, -1), 100)), 0);
  const optimizer: Optimizer<{ readonly seen: TensorTree }> = {
    name: `faulty ${where}`,
    init: (parameters) => ({ seen: mapTensors((leaf) => expand(literal(0), leaf.shape), parameters) }),
    update: (gradients, { seen }) => ({
      updates: mapTensors((g) => (where === "updates" ? wrong(g) : mul(g, 0)), gradients),
      state: { seen: where === "state" ? mapTensors(wrong, gradients) : seen },
    }),
  };
  return optimizer;
}

interface Problem {
  readonly optimizer: Optimizer;
  readonly precision?: Precision;
  /** Gradients; the last of `bad` holds an element that is too large. */
  readonly good: HostTensor;
  readonly bad: HostTensor;
}

/** Weights that are 0 and stay 0 with a gradient of 0, so that no loss is large. */
const large = (size: number): Pick<Problem, "good" | "bad"> => ({ good: vector(0, 0), bad: vector(1, size) });
const decaying = chain(weightDecay(2 ** 100), sgd({ learningRate: 2 ** 20 }));

/** A matrix whose very last element alone overflows. */
function lastOf(shape: Shape, size: number): Pick<Problem, "good" | "bad"> {
  const bad = filled(shape, 1);
  bad.data[bad.data.length - 1] = size;
  return { good: filled(shape, 0), bad };
}

const problems: Readonly<Record<string, Problem>> = {
  "sgd-overflows-a-weight": { optimizer: sgd({ learningRate: 2 ** 100 }), ...large(2 ** 100) },
  "momentum-overflows-a-weight": {
    optimizer: momentum({ learningRate: 2 ** 100 }),
    ...large(2 ** 100),
  },
  "momentum-overflows-its-velocity": {
    optimizer: momentum({ learningRate: 0, momentum: 0.99 }),
    good: vector(1, 2 ** 127),
    bad: vector(1, 1.9 * 2 ** 127),
  },
  "adam-overflows-its-squares": { optimizer: adam({ learningRate: 1 }), ...large(2 ** 70) },
  "rms-prop-overflows-its-squares": {
    optimizer: rmsProp({ learningRate: 1 }),
    ...large(2 ** 70),
  },
  "adagrad-overflows-its-squares": {
    optimizer: adagrad({ learningRate: 1 }),
    ...large(2 ** 70),
  },
  "an-f16-master-overflows": {
    optimizer: sgd({ learningRate: 2 ** 10 }),
    precision: kept(noMasterWeights("f16")),
    ...large(2 ** 8),
  },
  "an-f16-kahan-master-overflows": {
    optimizer: sgd({ learningRate: 2 ** 10 }),
    precision: kept(kahan("f16")),
    ...large(2 ** 8),
  },
  "an-update-that-is-nan": { optimizer: faulty("updates"), ...large(1000) },
  "optimizer-state-that-is-nan": { optimizer: faulty("state"), ...large(1000) },
  "the-last-element-of-a-matrix": {
    optimizer: sgd({ learningRate: 2 ** 100 }),
    ...lastOf([131, 70], 2 ** 100),
  },
  "the-last-square-of-a-matrix": {
    optimizer: adam({ learningRate: 1 }),
    ...lastOf([131, 70], 2 ** 70),
  },
};

interface Played {
  readonly applied: readonly boolean[];
  readonly before: Tensors;
  readonly after: Tensors;
}

function play(
  { optimizer, precision = NONE, good, bad }: Problem,
  checkNewParameters?: boolean,
): Parameters<typeof scenarioCase<Played>>[1] {
  return (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, Played>(
      backend,
      {
        params: { w: filled(good.shape, 0) },
        loss: linear,
        optimizer,
        precision,
        ...(checkNewParameters === undefined ? {} : { checkNewParameters }),
      },
      async ({ training, snapshot }) => {
        const first = await training.step({ x: fresh(good) });
        const before = await snapshot();
        const wrong = await training.step({ x: fresh(bad) });
        const after = await snapshot();
        const last = await training.step({ x: filled(good.shape, 0) });
        return { applied: [first.applied, wrong.applied, last.applied], before, after };
      },
    );
}

const refused: readonly ConformanceCase[] = Object.entries(problems).map(([name, problem]) =>
  scenarioCase<Played>(`skip/update/${name}`, play(problem), ({ applied, before, after }) => {
    expectEqual(applied, [true, false, true], "which steps are applied");
    expectUnmoved(after, before, "the skipped step");
  }),
);

/** Can be turned off. With Adam the second moment then stays infinite, which is why that is not the default. */
const unchecked: ConformanceCase = scenarioCase<Played>(
  "skip/update/is-applied-where-the-check-is-off",
  play({ optimizer: adam({ learningRate: 1 }), ...large(2 ** 70) }, false),
  ({ applied, after }) => {
    expectEqual(applied, [true, true, true], "which steps are applied");
    expectEqual(Number(after["optimizer/square/w"]?.data[1]), Number.POSITIVE_INFINITY, "the second moment");
  },
);

/** A weight's decay overflows; the gradient does not contribute. */
const decay: ConformanceCase = scenarioCase<readonly [boolean, number]>(
  "skip/update/a-decay-overflows-a-weight",
  (backend) =>
    withTrainer<WeightsOf, Fed, NoModel, readonly [boolean, number]>(
      backend,
      { params: { w: vector(2 ** 10) }, loss: linear, optimizer: decaying, precision: NONE },
      async ({ training }) => {
        const { applied } = await training.step({ x: vector(1) });
        return [applied, Number((await training.parameters()).w.data[0])];
      },
    ),
  (got) => expectEqual(got, [false, 2 ** 10], "whether the step is applied, and the weight"),
);

/** The 8-bit floats are for storage only, and overflow sooner than anything else. */
const eighths: readonly ConformanceCase[] = (["f8e4m3", "f8e5m2"] as const).map((dtype) => {
  type Model = { readonly kept: HostTensor };
  const growing: LossFunction<WeightsOf, Fed, Model> = ({ w }, { x }, { modelState }) => ({
    loss: reduceSum(mul(w, x)),
    modelState: { kept: cast(mul(cast(modelState.kept, "f32"), x), dtype) },
  });
  return scenarioCase<readonly (readonly [boolean, number])[]>(
    `skip/cause/model-state-in-${dtype}`,
    (backend) =>
      withTrainer<WeightsOf, Fed, Model, (readonly [boolean, number])[]>(
        backend,
        {
          params: { w: vector(0) },
          loss: growing,
          optimizer: sgd({ learningRate: 1 }),
          precision: NONE,
          modelState: { kept: tensor(encodeArray(dtype, Float32Array.of(1)), [1], dtype) },
        },
        async ({ training }) => {
          const steps: (readonly [boolean, number])[] = [];
          for (const x of [2, 2 ** 20, Number.NaN, 2]) {
            const { applied } = await training.step({ x: vector(x) });
            steps.push([applied, Number((await training.modelState()).kept.data[0])]);
          }
          return steps;
        },
      ),
    (steps, want) => {
      expectEqual(
        steps.map(([applied]) => applied),
        [true, false, false, true],
        "which steps are applied",
      );
      expectEqual(steps, want, "the steps and the bits of the model state");
    },
  );
});

/**
 * Scales that are not finite and above 0, or that are subnormal or have a subnormal reciprocal; each comes from a
 * state, so that no engine constant-folds it.
 */
const scales: Readonly<Record<string, number>> = {
  nan: Number.NaN,
  zero: 0,
  "below-zero": -4,
  infinity: Number.POSITIVE_INFINITY,
  "2-to-127": 2 ** 127,
  "2-to-minus-127": 2 ** -127,
};

const scaleCases: readonly ConformanceCase[] = Object.entries(scales).map(([name, scale]) => {
  type State = { readonly scale: Tensor };
  const steady: LossScaler<State> = {
    name: "steady",
    init: () => ({ scale: literal(8) }),
    scale: (state) => state.scale,
    update: (state) => state,
  };
  return scenarioCase<readonly (readonly [boolean, number])[]>(
    `loss-scale/own/a-scale-of-${name}-is-a-skip`,
    (backend) =>
      withTrainer<WeightsOf, Fed, NoModel, (readonly [boolean, number])[]>(
        backend,
        {
          params: { w: filled([2], 1) },
          loss: linear,
          optimizer: sgd({ learningRate: 1 }),
          precision: { ...NONE, lossScaler: steady },
        },
        async ({ training, state }) => {
          const steps: (readonly [boolean, number])[] = [];
          for (const at of [8, scale, 8]) {
            await state.write({ "scaler/scale": tensor(Float32Array.of(at), []) });
            // So small that a product with any of these scales stays finite.
            const { applied } = await training.step({ x: vector(2 ** -10, 0) });
            steps.push([applied, Number((await training.parameters()).w.data[0])]);
          }
          return steps;
        },
      ),
    (steps) =>
      expectEqual(
        steps,
        [
          [true, 1 - 2 ** -10],
          [false, 1 - 2 ** -10],
          [true, 1 - 2 ** -9],
        ],
        "steps and weights at a scale of 8, one outside the scaler's range, and 8 again",
      ),
  );
});

export const updateCheckCases: readonly ConformanceCase[] = [
  ...refused,
  unchecked,
  decay,
  ...eighths,
  ...scaleCases,
];
