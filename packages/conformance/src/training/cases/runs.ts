/** Whole training runs compared with the oracle's: every optimizer, every precision, common kinds of models. */
import {
  adamW,
  dynamicLossScale,
  float32,
  kahan,
  type MasterWeights,
  mixedBfloat16,
  mixedFloat16,
  momentum,
  type Optimizer,
  type Precision,
  type StepResult,
  sgd,
  stochasticRounding,
  type TrainerOptions,
} from "@mp/core";
import { adafactor, lamb } from "@mp/core/optim";
import type { BackendManifest, HostTensor } from "@mp/graph";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import { compareAtScale } from "../../compare/graph-allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { expectEqual, expectThat, fail } from "../../expectations.js";
import { toNumbers } from "../../host-data.js";
import { type Model, perceptron, recurrent, textModel } from "../models.js";
import { pictureModel } from "../picture-model.js";
import { scenarioCase } from "../scenario.js";
import { withTrainer } from "../session.js";

const STEPS = 10;

interface Kept {
  readonly precision: Precision;
  /** Allowed relative difference from the oracle's run; 0 for a backend that declares no error. */
  readonly drift: number;
}

interface Run {
  readonly steps: readonly StepResult[];
  readonly state: Tensors;
  readonly evaluation: number;
}

interface Settings {
  readonly optimizer?: Optimizer;
  /** The precision, which says how weights are stored, and the drift that it allows. Default float32. */
  readonly kept?: Kept;
  readonly clipNorm?: number;
  readonly accumulate?: number;
}

/** Whether the backend declares no error, and so must have none. */
function isExact({ tolerance }: BackendManifest): boolean {
  return Object.values(tolerance).every(({ f32, f16, bf16 }) => f32 === 0 && f16 === 0 && bf16 === 0);
}

/**
 * The largest drift of two runs, by their coarsest dtype. Where only one of them rounds up, a value differs by a whole
 * ulp.
 */
const DRIFT = { f32: 1e-3, f16: 2e-2, bf16: 8e-2 } as const;

function runCase<P, B, M>(id: string, model: Model<P, B, M>, settings: Settings): ConformanceCase {
  const {
    optimizer = sgd({ learningRate: 0.25 }),
    kept: { precision, drift } = precisions.float32,
    clipNorm,
    accumulate = 1,
  } = settings;
  const { params, modelState, loss, batch } = model;
  return scenarioCase<Run>(
    `run/${id}`,
    (backend) => {
      const options: Omit<TrainerOptions<P, B, M>, "backend"> = {
        params: params(),
        modelState: modelState(),
        loss,
        optimizer,
        precision,
        accumulate,
        ...(clipNorm === undefined ? {} : { clipNorm }),
        seed: 3,
      };
      return withTrainer<P, B, M, Run>(backend, options, async ({ training, snapshot }) => {
        const steps: StepResult[] = [];
        for (let step = 0; step < STEPS; step++) {
          const batches = Array.from({ length: accumulate }, (_, micro) => batch(step * accumulate + micro));
          steps.push(await training.step(...(batches as never[])));
        }
        const { loss: evaluation } = await training.evaluate(batch(0) as never);
        return { steps, state: await snapshot(), evaluation };
      });
    },
    (got, want, manifest) => {
      const relative = isExact(manifest) ? 0 : drift;
      got.steps.forEach((step, index) => {
        const other = want.steps[index] as StepResult;
        expectEqual(
          [step.applied, step.scale],
          [other.applied, other.scale],
          `applied and scale of step ${index}`,
        );
        near(step.loss, other.loss, relative, `the loss of step ${index}`);
        near(step.gradNorm, other.gradNorm, 4 * relative, `the norm of step ${index}`);
      });
      near(got.evaluation, want.evaluation, relative, "the loss of the evaluation");
      const [gotState, wantState] = relative === 0 ? [got.state, want.state] : [got, want].map(inWhole);
      for (const [slot, tensor] of Object.entries(wantState as Tensors)) {
        const mismatch = compareAtScale(gotState?.[slot], tensor as HostTensor, 4 * relative);
        if (mismatch !== undefined) fail(`${slot} ${mismatch}`);
      }
      expectThat(
        want.steps.filter(({ applied }) => applied).length > STEPS / 2,
        "the oracle itself skips most steps",
      );
    },
  );
}

const COMPENSATION = "master/compensation/";

/**
 * Adds each weight and its Kahan compensation, which together represent one number. If two runs round a weight
 * differently, its compensation differs entirely, but the sum does not.
 */
function inWhole({ state }: Run): Tensors {
  const whole: Record<string, HostTensor> = { ...state };
  for (const [slot, compensation] of Object.entries(state)) {
    const weight = slot.replace(COMPENSATION, "master/value/");
    const value = state[weight];
    if (!slot.startsWith(COMPENSATION) || value === undefined) continue;
    const lost = toNumbers(compensation);
    const sum = Float32Array.from(toNumbers(value), (x, at) => x + (lost[at] as number));
    whole[weight] = { dtype: "f32", shape: value.shape, data: sum };
    delete whole[slot];
  }
  return whole;
}

function near(got: number, want: number, relative: number, what: string): void {
  if (Object.is(got, want) || Math.abs(got - want) <= relative * Math.abs(want)) return;
  fail(`${what} is ${got}, want ${want} within ${relative}`);
}

const tame = { learningRate: 0.05, epsilon: 1e-3 };

/** Optimizers with an epsilon that keeps noise in vanishing gradients from becoming whole steps. */
const optimizers: Readonly<Record<string, Optimizer>> = {
  sgd: sgd({ learningRate: 0.25 }),
  "adam-w": adamW({ ...tame, weightDecay: 0.1 }),
  adafactor: adafactor({ learningRate: 0.2, epsilon: 1e-6 }),
  lamb: lamb({ ...tame, weightDecay: 0.1 }),
};

const withScaler = (precision: Precision): Precision => ({
  ...precision,
  lossScaler: dynamicLossScale({ initialScale: 2 ** 16, growthInterval: 4 }),
});
const storeBy = (masterWeights: MasterWeights): Precision => ({
  ...mixedBfloat16(),
  masterWeights,
});

const precisions = {
  float32: { precision: float32(), drift: DRIFT.f32 },
  "mixed-float16": { precision: withScaler(mixedFloat16()), drift: DRIFT.f16 },
  "kahan-bf16": { precision: storeBy(kahan("bf16")), drift: DRIFT.bf16 },
  "stochastic-bf16": { precision: storeBy(stochasticRounding()), drift: DRIFT.bf16 },
} as const satisfies Readonly<Record<string, Kept>>;

export const runCases: readonly ConformanceCase[] = [
  ...Object.entries(optimizers).map(([name, optimizer]) =>
    runCase(`perceptron/${name}`, perceptron, { optimizer }),
  ),
  ...Object.entries(precisions).map(([name, kept]) => runCase(`perceptron/${name}`, perceptron, { kept })),
  runCase("recurrent/float32", recurrent, {
    optimizer: momentum({ learningRate: 0.2 }),
    clipNorm: 0.5,
  }),
  runCase("recurrent/mixed-float16", recurrent, { kept: precisions["mixed-float16"], clipNorm: 0.5 }),
  runCase("text-model/float32", textModel, { optimizer: adamW(tame) }),
  runCase("text-model/mixed-float16", textModel, { kept: precisions["mixed-float16"], accumulate: 2 }),
  runCase("picture-model/float32", pictureModel, {
    optimizer: momentum({ learningRate: 0.05 }),
  }),
  runCase("picture-model/mixed-float16", pictureModel, { kept: precisions["mixed-float16"] }),
];
