/** Runs graphs under casting policies: values are rounded to the half dtype where the policy says, and only there. */
import {
  autocast,
  bfloat16,
  type CastingPolicy,
  castingPolicy,
  float16,
  float32,
  manual,
  mixedBfloat16,
  mixedFloat16,
} from "@mp/core";
import {
  type BackendManifest,
  type Graph,
  grad,
  type HalfDType,
  type HostTensor,
  scope,
  type Tensor,
  type TensorTree,
  valueAndGrad,
} from "@mp/graph";
import {
  add,
  cast,
  exp,
  literal,
  matMul,
  mul,
  reduceMean,
  reduceSum,
  relu,
  softmax,
  sub,
} from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { runGraph, type Tensors } from "../../cases/kinds/graph-case.js";
import { scriptedCase } from "../../cases/kinds/scripted-case.js";
import { EXACT } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import { compareAtScale, graphBudget } from "../../compare/graph-allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import { fail } from "../../expectations.js";
import { fresh } from "../../fresh.js";
import { generate } from "../../host-data.js";
import { traceGraph } from "../../traced-graph.js";
import { fill } from "../problems.js";

type Body = (inputs: Readonly<Record<string, Tensor>>) => TensorTree;

interface PolicyCase {
  readonly policy: CastingPolicy;
  readonly inputs: Tensors;
  readonly body: (x: Tensor, w: Tensor) => TensorTree;
  /** Exact expected results, for cases about rounding. */
  readonly want?: Tensors;
}

/** Traces the body under the policy, on inputs `x` and, if given, `w`. */
function graphUnder({ policy, inputs, body }: PolicyCase, manifest: BackendManifest): Graph {
  const traced: Body = ({ x, w }) =>
    autocast((a: Tensor, b: Tensor) => body(a, b), policy, { manifest })(x as Tensor, (w ?? x) as Tensor);
  return traceGraph(inputs, traced);
}

function policyCase(id: string, spec: PolicyCase): ConformanceCase {
  const traced = (manifest: BackendManifest): Graph => graphUnder(spec, manifest);
  return scriptedCase(`autocast/${id}`, traced, async (backend, { seed }) => {
    const graph = traced(backend.manifest);
    const want = spec.want ?? evaluate(graph, spec.inputs);
    const got = await runGraph(backend, graph, fresh(spec.inputs));
    const budget = graphBudget(backend.manifest, graph);
    for (const [name, tensor] of Object.entries(want)) {
      const exact = { ...EXACT, signedZero: false };
      const mismatch =
        spec.want === undefined
          ? compareAtScale(got[name], tensor, budget)
          : compareTensors(got[name], tensor, exact);
      if (mismatch !== undefined) fail(`${name} under ${spec.policy} ${mismatch}; seed ${seed}`);
    }
  });
}

const one = (x: number): HostTensor => fill([1, 1], x);
const y = (x: number): Tensors => ({ y: one(x) });
const product: PolicyCase["body"] = (x, w) => ({ y: matMul(x, w) });

/** A case on two numbers; the body is a product of matrices unless given. */
const numbersCase = (
  id: string,
  policy: CastingPolicy,
  [x, w]: readonly [number, number],
  want: Tensors | undefined,
  body: PolicyCase["body"] = product,
): ConformanceCase =>
  policyCase(id, { policy, inputs: { x: one(x), w: one(w) }, body, ...(want === undefined ? {} : { want }) });

interface HalfFacts {
  readonly mixed: CastingPolicy;
  readonly pure: CastingPolicy;
  /** A number just above 1 that rounds to 1 in the half dtype. */
  readonly roundsToOne: number;
}

const facts: Readonly<Record<HalfDType, HalfFacts>> = {
  f16: {
    mixed: mixedFloat16().policy,
    pure: float16().policy.with({ output: "f32" }),
    roundsToOne: 1 + 2 ** -12,
  },
  bf16: {
    mixed: mixedBfloat16().policy,
    pure: bfloat16().policy.with({ output: "f32" }),
    roundsToOne: 1 + 2 ** -9,
  },
};

const INFINITE = Number.POSITIVE_INFINITY;

const network: Tensors = {
  x: generate("f32", [5, 4], (at) => Math.sin(at + 1)),
  w: generate("f32", [4, 4], (at) => Math.cos(at * 1.7) / 2),
};

/** A loss of three products, a softmax and a mean of squares, with its gradient. */
function networkBody(x: Tensor, w: Tensor): TensorTree {
  const loss = (weight: Tensor): Tensor => {
    const hidden = relu(matMul(x, weight));
    const scores = softmax(matMul(hidden, weight));
    const error = sub(matMul(scores, weight), x);
    return cast(reduceMean(mul(error, error)), "f32");
  };
  const { value, gradients: gradient } = valueAndGrad(loss)(w);
  return { value, gradient };
}

/** Cases whose results differ if an engine silently computes in f32 instead of the half dtype. */
const reallyHalves: readonly ConformanceCase[] = (["f16", "bf16"] as const).flatMap((half) => {
  const { mixed, pure, roundsToOne } = facts[half];
  return [
    numbersCase(`mixed-${half}/operands-are-rounded`, mixed, [roundsToOne, 1], y(1)),
    policyCase(`mixed-${half}/results-are-rounded`, {
      policy: mixed,
      inputs: { x: fill([1, 3], 1), w: fill([3, 1], half === "f16" ? 683 : 85.5) },
      body: (x, w) => ({ y: matMul(x, w) }),
      want: y(half === "f16" ? 2048 : 256),
    }),
    numbersCase(`mixed-${half}/activations-between-products-are-rounded`, mixed, [1, 1], y(1), (x, w) => ({
      y: matMul(relu(add(matMul(x, w), matMul(x, mul(w, half === "f16" ? 2 ** -11 : 2 ** -8)))), w),
    })),
    numbersCase(
      `pure-${half}/additions-are-rounded`,
      pure,
      [half === "f16" ? 2048 : 256, 1],
      y(half === "f16" ? 2048 : 256),
      (x, w) => ({ y: add(x, w) }),
    ),
    numbersCase(
      `manual-${half}/only-the-users-casts`,
      manual().policy,
      [roundsToOne, 1],
      { y: one(roundsToOne), z: one(1) },
      (x, w) => ({ y: matMul(x, w), z: cast(matMul(cast(x, half), cast(w, half)), "f32") }),
    ),
    numbersCase(
      `mixed-${half}/a-users-cast-is-kept`,
      mixed,
      [roundsToOne, 1],
      { y: one(1), z: one(roundsToOne) },
      (x, w) => ({ y: mul(cast(cast(x, half), "f32"), w), z: mul(x, w) }),
    ),
    policyCase(`mixed-${half}/sums-stay-in-f32`, {
      policy: mixed,
      inputs: { x: fill([1, 1], 1), w: fill([1, 70_000], 1) },
      body: (x, w) => ({
        y: reduceSum(matMul(x, w), { keepdims: true }),
        z: reduceMean(matMul(x, w), { keepdims: true }),
      }),
      want: { y: one(70_000), z: one(1) },
    }),
    numbersCase(
      `mixed-${half}/a-scope-in-f32-is-in-f32`,
      mixed.with({ scopes: { head: "f32" } }),
      [roundsToOne, 1],
      { y: one(roundsToOne), z: one(1) },
      (x, w) => ({ y: scope("head", () => matMul(x, w)), z: scope("body", () => matMul(x, w)) }),
    ),
    numbersCase(
      `mixed-${half}/an-op-in-f32-is-in-f32`,
      mixed.with({ ops: { MatMul: "f32" } }),
      [roundsToOne, 1],
      y(roundsToOne),
    ),
    numbersCase(
      `mixed-${half}/an-inner-policy-has-the-say`,
      mixed,
      [roundsToOne, 1],
      { y: one(roundsToOne), z: one(1) },
      (x, w) => ({
        y: autocast((a: Tensor, b: Tensor) => matMul(a, b), float32().policy)(x, w),
        z: matMul(x, w),
      }),
    ),
    policyCase(`mixed-${half}/integers-are-left-alone`, {
      policy: mixed,
      inputs: { x: generate("i32", [1, 1], () => 70_001), w: one(1) },
      body: (x, w) => ({ y: add(x, 0), z: matMul(w, w) }),
      want: { y: generate("i32", [1, 1], () => 70_001), z: one(1) },
    }),
    numbersCase(
      `half-output-${half}/results-take-the-output-dtype`,
      castingPolicy({ compute: half, output: half }),
      [3, 2],
      undefined,
    ),
    policyCase(`mixed-${half}/a-network-with-its-gradients`, {
      policy: mixed,
      inputs: network,
      body: networkBody,
    }),
    policyCase(`pure-${half}/a-network-with-its-gradients`, {
      policy: pure,
      inputs: network,
      body: networkBody,
    }),
  ];
});

const ranges: readonly ConformanceCase[] = [
  numbersCase("mixed-f16/products-overflow-as-halves-do", mixedFloat16().policy, [300, 300], y(INFINITE)),
  numbersCase(
    "mixed-bf16/products-reach-as-far-as-f32",
    mixedBfloat16().policy,
    [2 ** 60, 2 ** 60],
    y(2 ** 120),
  ),
  numbersCase("mixed-f16/exponentials-stay-in-f32", mixedFloat16().policy, [4, 5], undefined, (x, w) => ({
    y: exp(matMul(x, w)),
  })),
  numbersCase(
    "pure-f16/exponentials-overflow",
    float16().policy.with({ output: "f32" }),
    [4, 5],
    y(INFINITE),
    (x, w) => ({ y: exp(matMul(x, w)) }),
  ),
  numbersCase(
    "mixed-f16/the-two-halves-meet-in-f32",
    manual().policy,
    [1 + 2 ** -10, 2 ** 100],
    y((1 + 2 ** -10) * 2 ** 100),
    (x, w) => ({ y: mul(cast(x, "f16"), cast(w, "bf16")) }),
  ),
  numbersCase("float32/casts-nothing", float32().policy, [1 + 2 ** -20, 1], y(1 + 2 ** -20)),
];

/** Gradients are computed in the dtype of their forward node, so those of products underflow in f16. */
const gradients: readonly ConformanceCase[] = [
  numbersCase("mixed-f16/gradients-underflow-as-halves-do", float32().policy, [1, 1], y(0), (x, w) => ({
    y: gradientUnder(mixedFloat16().policy, x, w, 2 ** -26),
  })),
  numbersCase("mixed-f16/a-seed-lifts-them", float32().policy, [1, 1], y(2 ** -11), (x, w) => ({
    y: gradientUnder(mixedFloat16().policy, x, w, 2 ** -26, 2 ** 15),
  })),
  numbersCase("mixed-bf16/gradients-do-not-underflow", float32().policy, [1, 1], y(2 ** -26), (x, w) => ({
    y: gradientUnder(mixedBfloat16().policy, x, w, 2 ** -26),
  })),
  // pytorch#105211: training reused the cast weight of an earlier evaluation, which had no gradient.
  numbersCase(
    "mixed-f16/evaluation-beforehand-keeps-no-gradient-back",
    mixedFloat16().policy,
    [3, 2],
    { y: one(6), z: one(3) },
    (x, w) => {
      const evaluated = matMul(x, w);
      const trained = grad((weight: Tensor) => reduceSum(cast(matMul(x, weight), "f32")))(w);
      return { y: evaluated, z: trained };
    },
  ),
];

/** dL/dw for L = size · Σ x·w, where size is split into two factors that are in range. */
function gradientUnder(policy: CastingPolicy, x: Tensor, w: Tensor, size: number, seed = 1): Tensor {
  const loss = autocast(
    (weight: Tensor) => mul(mul(reduceSum(matMul(x, weight)), 2 ** -13), size * 2 ** 13),
    policy,
  );
  return grad(loss, { seed: literal(seed) })(w);
}

export const autocastCases: readonly ConformanceCase[] = [...reallyHalves, ...ranges, ...gradients];
