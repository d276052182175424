/** No casting policy changes what is drawn at random. */
import {
  type ComputeDType,
  foldIn,
  type HalfDType,
  key,
  OPS,
  type Op,
  opTable,
  scope,
  type Tensor,
  traceInto,
} from "@mp/graph";
import { CAST_CATEGORIES } from "@mp/graph/internal";
import {
  add,
  cast,
  less,
  log,
  matMul,
  mul,
  randomBernoulli,
  randomNormal,
  randomUniform,
  reshape,
  scan,
  sqrt,
  stochasticallyRounded,
  sub,
  where,
} from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { graphOf } from "../../../graph/test/traced-nets.js";
import { autocast } from "../../src/cast/autocast.js";
import { explainCasts } from "../../src/cast/explain.js";
import {
  bfloat16Policy,
  type CastingPolicy,
  type CastingPolicyChanges,
  castingPolicy,
  float16Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "../../src/cast/policy.js";

const COUNT = 600;
const f32 = (x: Tensor): Tensor => cast(x, "f32");

/** Everything that can be drawn, and what operators make of it that read it: masks by hand, roots, moved numbers. */
function draws(): Record<string, Tensor> {
  const stream = (name: string) => foldIn(key(5), name);
  return scope("body", () => {
    const uniform = randomUniform(stream("uniform"), [COUNT]);
    const normal = scope("noise", () => randomNormal(stream("normal"), [COUNT]));
    const [, inLoop] = scan(
      (sum: Tensor, x: Tensor) => {
        const kept = where(randomBernoulli(stream("loop"), 0.5, [COUNT]), x, 0);
        return [add(sum, reshape(randomNormal(stream("each"), [1]), [])), cast(kept, "i32")];
      },
      cast(randomUniform(stream("start"), []), "f32"),
      cast(randomBernoulli(stream("rows"), 0.5, [2, COUNT]), "i32"),
    );
    return {
      uniform,
      normal,
      mask: randomBernoulli(stream("mask"), 0.7, [COUNT]),
      never: randomBernoulli(stream("never"), 0, [COUNT]),
      always: randomBernoulli(stream("always"), 1, [COUNT]),
      byHand: less(reshape(uniform, [2, COUNT / 2]), 0.3),
      below1: less(uniform, 1),
      mirrored: f32(sub(1, uniform)),
      logarithm: f32(log(uniform)),
      root: f32(sqrt(uniform)),
      rounded: f32(stochasticallyRounded(normal, stream("rounded"))),
      inLoop,
    };
  });
}
const under = (policy: CastingPolicy, body = draws) =>
  evaluate(traceInto([], () => autocast(body, policy)()).graph, {});
const want = evaluate(traceInto([], draws).graph, {});

const half = fc.constantFrom<HalfDType>("f16", "bf16");
const category = fc.constantFrom(...CAST_CATEGORIES);
const floating = OPS.filter((op) => opTable[op].cast.f16 !== "fixed");
const byOp = fc.dictionary(fc.constantFrom<Op>(...floating), category, { maxKeys: 30 });
const policies = fc
  .record({
    compute: half,
    isPure: fc.boolean(),
    output: fc.constantFrom<ComputeDType>("f32", "f16", "bf16"),
    ops: byOp,
    scopes: fc.dictionary(fc.constantFrom("body", "body/noise", "elsewhere"), fc.oneof(category, byOp)),
  })
  .map(({ compute, isPure, ...rest }) =>
    castingPolicy({ compute, ...(isPure ? { parameters: compute } : {}), ...rest } as CastingPolicyChanges & {
      compute: HalfDType;
    }),
  );

describe("random draws", () => {
  it("have the bits of float32's under random policies", () => {
    fc.assert(
      fc.property(policies, (policy) => {
        expect(under(policy), String(policy)).toEqual(want);
      }),
      { numRuns: 20 },
    );
  });

  it.each([mixedFloat16Policy, mixedBfloat16Policy, float16Policy, bfloat16Policy, manualPolicy])(
    "have them under %s, inside of another policy too",
    (policy) => {
      expect(under(policy)).toEqual(want);
      const { uniform, normal, mask } = want;
      expect(under(policy, autocast(draws, bfloat16Policy))).toMatchObject({ uniform, normal, mask });
    },
  );

  it("let matrix products and what follows be low", () => {
    const graph = graphOf({ w: [4, 4] }, {}, ({ w }) => {
      const noise = randomNormal(key(1), [4, 4]);
      return add(mul(matMul(noise, w), noise), where(randomBernoulli(key(2), 0.5, [4, 4]), mul(w, 2), 0));
    });
    const rules = explainCasts(graph, float16Policy).nodes.filter(({ op }) =>
      ["MatMul", "Mul", "Where"].includes(op),
    );
    const others = rules.filter(({ rule }) => rule !== "random draw" && rule !== "not floating");
    expect(others.map(({ op, dtype }) => `${op} ${dtype}`)).toEqual([
      "MatMul f16",
      "Mul f32",
      "Mul f16",
      "Where f16",
    ]);
  });
});
