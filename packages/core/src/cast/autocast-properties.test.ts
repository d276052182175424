import { type Graph, MpError, printGraph, scope, type Tensor, tensor, type Value } from "@mp/graph";
import {
  abs,
  add,
  cast,
  concat,
  exp,
  expand,
  gelu,
  greater,
  layerNormalization,
  literal,
  logSoftmax,
  matMul,
  mul,
  reduceMax,
  reduceMean,
  relu,
  sigmoid,
  slice,
  softmax,
  softplus,
  sub,
  transpose,
  where,
} from "@mp/graph/ops";
import { evaluateRaw } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withSegment } from "../../../graph/src/trace/trace.js";
import { graphOf } from "../../../graph/test/traced-nets.js";
import { autocastGraph } from "./autocast-graph.js";
import {
  bfloat16Policy,
  type CastingPolicy,
  float16Policy,
  float32Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "./policy.js";

type Make = (a: Tensor, b: Tensor) => Tensor;

/** Every recipe gives [2, 2] from [2, 2], whatever the floats' dtypes. */
const recipes: readonly Make[] = [
  (a) => relu(a),
  (a) => gelu(a),
  (a) => sigmoid(a),
  (a) => exp(mul(a, 0.125)),
  (a) => softplus(a),
  (a) => softmax(a),
  (a) => logSoftmax(a),
  (a) => transpose(a),
  (a) => add(a, 0.5),
  (a) => mul(a, a),
  (a) => layerNormalization(a, reduceMax(a, { axes: [0] })),
  (a) => sub(a, reduceMax(a, { axes: [1], keepdims: true })),
  (a) => mul(abs(a), reduceMean(a, { axes: [0], keepdims: true })),
  add,
  sub,
  mul,
  (a, b) => matMul(a, cast(b, a.dtype)),
  (a, b) => matMul(cast(a, b.dtype), transpose(b)),
  (a, b) => slice(concat([a, cast(b, a.dtype)], 0), [{ axis: 0, start: 1, end: 3 }]),
  (a, b) => where(greater(a, b), a, b),
];
const userCasts: readonly Make[] = [(a) => cast(a, "f16"), (a) => cast(a, "bf16"), (a) => cast(a, "f32")];

const step = fc.record({
  recipe: fc.nat(),
  a: fc.nat(),
  b: fc.nat(),
  segment: fc.option(fc.nat({ max: 1 }), { nil: undefined }),
});

function graphs(makes: readonly Make[]): fc.Arbitrary<Graph> {
  return fc
    .record({
      steps: fc.array(step, { minLength: 3, maxLength: 14 }),
      returned: fc.array(fc.nat(), { maxLength: 2 }),
    })
    .map(({ steps, returned }) =>
      graphOf({ v: [2, 2], w: [2, 2] }, { x: [2, 2], y: [2, 2] }, ({ v, w, x, y }) => {
        const made: Tensor[] = [v, w, x, y];
        const pick = (index: number): Tensor => made[index % made.length] as Tensor;
        for (const { recipe, a, b, segment } of steps) {
          const make = makes[recipe % makes.length] as Make;
          const body = (): Tensor => scope(`s${made.length % 3}`, () => make(pick(a), pick(b)));
          made.push(segment === undefined ? body() : withSegment(segment, body));
        }
        return { last: made.at(-1) as Tensor, others: returned.map(pick) };
      }),
    );
}

const casting = [mixedFloat16Policy, mixedBfloat16Policy, float16Policy, bfloat16Policy];
const policies: fc.Arbitrary<CastingPolicy> = fc.oneof(
  fc.constantFrom(...casting),
  fc
    .record({
      base: fc.constantFrom(mixedFloat16Policy, mixedBfloat16Policy),
      add: fc.constantFrom("infer" as const, "clear" as const, "low" as const, "deny" as const),
      scope: fc.constantFrom("low" as const, "f32" as const, "infer" as const),
    })
    .map(({ base, add: category, scope: everything }) =>
      base.with({ ops: { Add: category, Mul: category }, scopes: { s1: everything } }),
    ),
);

const plain = graphs(recipes);
const withUserCasts = graphs([...recipes, ...userCasts, ...userCasts]);

const inputs = {
  v: tensor(Float32Array.of(0.5, -1.25, 0.75, 1), [2, 2]),
  w: tensor(Float32Array.of(-0.5, 0.25, 1.5, -0.125), [2, 2]),
  x: tensor(Float32Array.of(1, 0.375, -0.625, 0.25), [2, 2]),
  y: tensor(Float32Array.of(0.125, -2, 1.75, 0.5), [2, 2]),
};

const smallest = -3.4028234663852886e38;
const masks: readonly Make[] = [
  (a, b) => where(greater(a, b), a, smallest),
  (a, b) => add(a, where(greater(a, b), literal(0), smallest)),
  (a, b) => where(greater(a, b), expand(literal(smallest), [2, 2]), cast(b, "f32")),
];

describe("autocastGraph on random graphs", () => {
  it("keeps masks beyond the half in f32 or refuses them, and never rounds one to infinity", () => {
    let kept = 0;
    fc.assert(
      fc.property(
        graphs([...recipes, ...masks, ...masks]),
        fc.constantFrom(mixedFloat16Policy, mixedBfloat16Policy),
        (graph, policy) => {
          try {
            const cast = autocastGraph(graph, policy);
            const huge = new Set<Value>();
            for (const node of cast.nodes) {
              const [output] = node.outputs as [Value];
              const isMask = node.op === "Constant" && node.attributes.literal === smallest;
              if (isMask || (node.op === "Expand" && huge.has(node.inputs[0] as Value))) huge.add(output);
              if (!node.inputs.some((input) => huge.has(input)) && !isMask) continue;
              kept++;
              expect(output.dtype, `${node.op} of a mask`).toBe("f32");
            }
          } catch (error) {
            if (!MpError.is(error)) throw error;
            expect(error.code).toBe("MP_OUT_OF_RANGE");
          }
        },
      ),
      { numRuns: 300 },
    );
    expect(kept).toBeGreaterThan(100);
  });

  it("casts a value once per dtype and segment, and never what it has cast", () => {
    fc.assert(
      fc.property(plain, policies, (graph, policy) => {
        const made = new Set<Value>();
        const seen = new Map<Value, Set<string>>();
        for (const node of autocastGraph(graph, policy).nodes) {
          if (node.op !== "Cast") continue;
          const [value] = node.inputs as [Value];
          const key = `${node.attributes.to} ${node.origin.segment}`;
          expect(made.has(value), "a cast of a cast").toBe(false);
          expect(seen.get(value)?.has(key) ?? false, `twice to ${key}`).toBe(false);
          seen.set(value, (seen.get(value) ?? new Set()).add(key));
          for (const output of node.outputs) made.add(output);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("is idempotent, user casts or not", () => {
    fc.assert(
      fc.property(withUserCasts, policies, (graph, policy) => {
        const once = autocastGraph(graph, policy);
        expect(printGraph(autocastGraph(once, policy))).toBe(printGraph(once));
      }),
      { numRuns: 200 },
    );
  });

  it("computes the same function: without rounding the results agree to the bit", () => {
    fc.assert(
      fc.property(withUserCasts, policies, (graph, policy) => {
        const before = evaluateRaw(graph, inputs, { arithmetic: "f64" });
        const after = evaluateRaw(autocastGraph(graph, policy), inputs, { arithmetic: "f64" });
        for (const [name, { data }] of Object.entries(before)) expect(after[name]?.data).toEqual(data);
      }),
      { numRuns: 200 },
    );
  });

  it("keeps inputs, gives computed results in the output dtype, and casts nothing under a policy that does not", () => {
    fc.assert(
      fc.property(plain, policies, (graph, policy) => {
        const result = autocastGraph(graph, policy);
        expect(result.inputs.map(({ name, role }) => [name, role])).toEqual(
          graph.inputs.map(({ name, role }) => [name, role]),
        );
        result.outputs.forEach(({ value }, index) => {
          const given = graph.inputs.some((input) => input.value === graph.outputs[index]?.value);
          expect(value.dtype).toBe(given ? "f32" : policy.output);
        });
        expect(autocastGraph(graph, float32Policy)).toBe(graph);
        expect(autocastGraph(graph, manualPolicy)).toBe(graph);
      }),
    );
  });

  it("keeps every product low under a policy without overrides, and every user cast", () => {
    fc.assert(
      fc.property(withUserCasts, fc.constantFrom(...casting), (graph, policy) => {
        const result = autocastGraph(graph, policy);
        for (const node of result.nodes) {
          if (node.op === "MatMul") expect(node.outputs[0]?.dtype).toBe(policy.compute);
        }
        const casts = ({ nodes }: Graph): string[] =>
          nodes.flatMap((node) => (node.op === "Cast" ? [`${node.attributes.to} ${node.origin.line}`] : []));
        const after = casts(result);
        for (const cast of casts(graph)) {
          const at = after.indexOf(cast);
          expect(at, cast).toBeGreaterThanOrEqual(0);
          after.splice(at, 1);
        }
      }),
    );
  });
});
