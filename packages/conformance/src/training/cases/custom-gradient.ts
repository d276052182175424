/** Compiled custom gradients, in loops, recomputed and under casting policies, compared with results by hand. */
import {
  autocast,
  type CastingPolicy,
  float32,
  type LossFunction,
  mixedBfloat16,
  mixedFloat16,
} from "@mp/core";
import {
  type BackendManifest,
  customGradient,
  type Graph,
  grad,
  remat,
  type Tensor,
  tensor,
} from "@mp/graph";
import { cast, constant, matMul, mul, reduceSum, scan } from "@mp/graph/ops";
import { runGraph } from "../../cases/kinds/graph-case.js";
import { scriptedCase } from "../../cases/kinds/scripted-case.js";
import { compareAtScale } from "../../compare/graph-allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { fail } from "../../expectations.js";
import { traceGraph } from "../../traced-graph.js";
import { CUSTOM_GRADIENTS, type CustomGradientSample } from "../custom-gradient-table.js";
import { exactSgd, type Fed, fill, type NoModel, type WeightsOf } from "../problems.js";
import { trainerCase } from "../trainer-case.js";

type Fn = (x: Tensor) => Tensor;

/** A context in which a function is called. */
interface CallContext {
  readonly name: string;
  readonly around: (fn: Fn, manifest: BackendManifest) => Fn;
  /** Largest allowed error, relative to the largest element. */
  readonly tolerance: number;
}

const SHAPE = [3, 4] as const;
/** Multiples of 1/8 of both signs, and 0. f16 and bf16 hold them exactly, and none is a tie. */
const X = [-2.75, -1.625, -1.125, -0.875, -0.25, 0, 0.125, 0.375, 0.875, 1.25, 1.75, 2.25];
const WEIGHTS = X.map((_, at) => (0.1875 + ((at * 5) % 7) / 8) * (at % 3 === 1 ? -1 : 1));
const IDENTITY = Float32Array.from({ length: 16 }, (_, at) => (at % 5 === 0 ? 1 : 0));

const host = (numbers: readonly number[]) => tensor(Float32Array.from(numbers), SHAPE);
const sumWithWeights = (x: Tensor): Tensor => reduceSum(mul(cast(x, "f32"), constant(host(WEIGHTS))));

/** Calls the function on a product, which the policy computes in a half dtype. */
const under =
  (policy: CastingPolicy): CallContext["around"] =>
  (fn, manifest) =>
    autocast((x: Tensor) => fn(matMul(x, constant(tensor(IDENTITY, [4, 4])))), policy, { manifest });

const step =
  (fn: Fn) =>
  (carry: readonly Tensor[], x: Tensor): readonly [readonly Tensor[], Tensor] => [carry, fn(x)];

const PLACES: readonly CallContext[] = [
  { name: "alone", around: (fn) => fn, tolerance: 1e-5 },
  { name: "remat", around: (fn) => remat((x: Tensor) => fn(x)), tolerance: 1e-5 },
  { name: "scan", around: (fn) => (x) => scan(step(fn), [], x)[1], tolerance: 1e-5 },
  { name: "remat-in-scan", around: (fn) => (x) => scan(remat(step(fn)), [], x)[1], tolerance: 1e-5 },
  { name: "mixed-float16", around: under(mixedFloat16().policy), tolerance: 4e-3 },
  { name: "mixed-bfloat16", around: under(mixedBfloat16().policy), tolerance: 3e-2 },
];

/** A case's graph, which can also be built with a wrong `customGradient`, and its result computed by hand. */
export interface CustomGradientCheck {
  readonly id: string;
  readonly graph: (manifest: BackendManifest, custom?: typeof customGradient) => Graph;
  readonly want: readonly number[];
  readonly tolerance: number;
}

function gradientChecks(
  sample: CustomGradientSample,
  { name, around, tolerance }: CallContext,
): CustomGradientCheck[] {
  const id = `custom-gradient/${sample.name}/${name}`;
  const trace =
    (derive: (fn: Fn) => Fn): CustomGradientCheck["graph"] =>
    (manifest, custom = customGradient) =>
      traceGraph({ x: { dtype: "f32", shape: SHAPE } }, ({ x }) => ({
        gradient: derive(around(sample.make(custom), manifest))(x as Tensor),
      }));
  const once = (fn: Fn): Fn => grad((x: Tensor) => sumWithWeights(fn(x)));
  const weightAt = (at: number): number => WEIGHTS[at] as number;
  return [
    { id, graph: trace(once), want: X.map((x, at) => sample.pulled(x, weightAt(at))), tolerance },
    {
      id: `${id}-twice`,
      graph: trace((fn) => once(once(fn))),
      want: X.map((x, at) => weightAt(at) * sample.twice(x, weightAt(at))),
      tolerance: 4 * tolerance,
    },
  ];
}

export const customGradientChecks: readonly CustomGradientCheck[] = CUSTOM_GRADIENTS.flatMap((sample) =>
  PLACES.flatMap((place) => gradientChecks(sample, place)),
);

const checkCase = ({ id, graph, want, tolerance }: CustomGradientCheck): ConformanceCase =>
  scriptedCase(
    id,
    (manifest) => graph(manifest),
    async (backend) => {
      const got = await runGraph(backend, graph(backend.manifest), { x: host(X) });
      const mismatch = compareAtScale(got["gradient"], host(want), tolerance);
      if (mismatch !== undefined) fail(`the gradient, beside that by hand, ${mismatch}`);
    },
  );

/** A step of a trainer with a loop, which the trainer unrolls for engines without loops. */
const stepCase = (sample: CustomGradientSample): ConformanceCase => {
  const loss: LossFunction<WeightsOf, Fed, NoModel> = ({ w }, { x }) =>
    sumWithWeights(mul(scan(step(sample.make(customGradient)), [], w)[1], x));
  return trainerCase<WeightsOf, Fed, NoModel, readonly number[]>(
    `custom-gradient/${sample.name}/step-with-a-loop`,
    { params: { w: host(X) }, loss, optimizer: exactSgd(1), precision: float32() },
    async ({ training }) => {
      await training.step({ x: fill([1], 1) });
      const after = (await training.parameters()).w.data;
      return X.map((x, at) => x - (after[at] as number));
    },
    (moved) => {
      const want = X.map((x, at) => sample.pulled(x, WEIGHTS[at] as number));
      const mismatch = compareAtScale(host(moved), host(want), 1e-5);
      if (mismatch !== undefined) fail(`the gradient of the step, beside that by hand, ${mismatch}`);
    },
  );
};

export const customGradientCases: readonly ConformanceCase[] = [
  ...customGradientChecks.map(checkCase),
  ...CUSTOM_GRADIENTS.map(stepCase),
];
