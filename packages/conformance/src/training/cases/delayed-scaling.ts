/** The state of delayed scaling over many steps, two of them skipped, beside TransformerEngine's rule in float32. */
import { delayedScaling, float8, type LossFunction, sgd } from "@mp/core";
import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { matMul, mul, reduceSum } from "@mp/graph/ops";
import type { Tensors } from "../../cases/kinds/graph-case.js";
import { EXACT } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { fail } from "../../expectations.js";
import { randomSource } from "../../random-source.js";
import type { NoModel } from "../problems.js";
import { trainerCase } from "../trainer-case.js";

type Weights = { readonly w: HostTensor<"f32"> };
type Recorded = { readonly x: HostTensor<"f32">; readonly y: HostTensor<"f32"> };

const STEPS = 200;
const HISTORY = 6;
/** The largest numbers of the formats of input, weight and gradient, with one power of two free. */
const BOUNDS = [448 / 2, 448 / 2, 57_344 / 2];
/** A quotient may be off by a unit in the last place. */
const TOLERANCES = { history: EXACT, scale: { ...EXACT, ulp: 1 } };

const SKIPPED: readonly number[] = [37, 121];

const largest = ({ data }: HostTensor<"f32">): number => Math.max(...data.map(Math.abs));

/** Tensors of magnitudes from 2^-20 to 2^20; each 17th is empty, and those of skipped steps have an infinity. */
function recorded(): readonly Recorded[] {
  const random = randomSource(5, "delayed scaling");
  const draw = (shape: readonly [number, number], step: number): HostTensor<"f32"> => {
    const size = step % 17 === 16 ? 0 : 2 ** random.integer(-20, 20);
    return tensor(
      Float32Array.from({ length: shape[0] * shape[1] }, () => size * random.between(-1, 1)),
      shape,
    );
  };
  return Array.from({ length: STEPS }, (_, step) => {
    const [x, y] = [draw([5, 4], step), draw([5, 3], step + 5)];
    if (SKIPPED.includes(step)) x.data[7] = Number.POSITIVE_INFINITY;
    return { x, y };
  });
}

const weight = tensor(
  Float32Array.from({ length: 12 }, (_, at) => (at - 5) / 8),
  [4, 3],
);

/** The gradient of the product is y, so that its magnitudes are known without a sum. */
const loss: LossFunction<Weights, { readonly x: Tensor; readonly y: Tensor }, NoModel> = ({ w }, { x, y }) =>
  reduceSum(mul(matMul(x, w), y));

interface Scaling {
  readonly history: Float32Array;
  readonly scale: Float32Array;
}

/** The rule, step by step: a magnitude of 0 leaves a scale as it was, and a skipped step leaves everything. */
function* wantedStates(steps: readonly Recorded[]): Generator<Scaling> {
  let rows: readonly (readonly number[])[] = Array.from({ length: HISTORY }, () => [0, 0, 0]);
  let scale = Float32Array.of(1, 1, 1);
  for (const [step, { x, y }] of steps.entries()) {
    if (!SKIPPED.includes(step)) {
      const seen = [largest(x), largest(weight), largest(y)];
      const most = seen.map((now, role) => Math.max(now, ...rows.map((row) => row[role] as number)));
      scale = scale.map((before, role) => {
        const now = most[role] as number;
        return now === 0 ? before : (BOUNDS[role] as number) / now;
      });
      // The first row is free for the step that comes.
      rows = [[0, 0, 0], ...rows.slice(2), seen];
    }
    yield { history: Float32Array.from(rows.flat()), scale };
  }
}

const precision = float8({ scaling: delayedScaling({ history: HISTORY, margin: 1 }), scopes: { "": true } });

export const delayedScalingCases: readonly ConformanceCase[] = [
  trainerCase<Weights, { readonly x: Tensor; readonly y: Tensor }, NoModel, readonly Tensors[]>(
    "recipe/delayed/history-and-scales-of-200-steps",
    { params: { w: weight }, loss, optimizer: sgd({ learningRate: 0 }), precision },
    async ({ training, snapshot }) => {
      const states: Tensors[] = [];
      for (const batch of recorded()) {
        await training.step(batch);
        states.push(await snapshot());
      }
      return states;
    },
    (got) => {
      for (const [step, wanted] of [...wantedStates(recorded())].entries())
        for (const part of ["history", "scale"] as const) {
          const want = tensor(wanted[part], part === "history" ? [HISTORY, 3] : [3]);
          const mismatch = compareTensors(got[step]?.[`recipe/${part}/w`], want, TOLERANCES[part]);
          if (mismatch !== undefined) fail(`the ${part} after step ${step} ${mismatch}`);
        }
    },
  ),
];
