import { type Graph, scope, tensor } from "@mp/graph";
import { add, cast, clip, constant, div, exp, matMul, mul, reduceMean, sub, where } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { graphOf, mlp } from "../../../graph/test/traced-nets.js";
import { lintCasts } from "./lint.js";
import {
  float16Policy,
  float32Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "./policy.js";

const rules = (graph: Graph, policy = mixedFloat16Policy): string[] =>
  lintCasts(graph, policy).map(({ rule, node }) => `${rule} ${node}`);

const line = expect.stringMatching(/lint\.test\.ts:\d+:\d+$/);

describe("lintCasts", () => {
  it("warns of a column that meets a row, and only of that", () => {
    const meet = (a: readonly number[], b: readonly number[]): Graph =>
      graphOf({ w: [4, 1] }, { a, b }, ({ a: x, b: y }) => reduceMean(sub(x, y)));
    const found = { rule: "crossed-broadcast", severity: "warning", node: "Sub" };
    expect(lintCasts(meet([4, 1], [4]), float32Policy)).toMatchObject([
      { ...found, message: expect.stringContaining("[4, 1] with [4] makes [4, 4]"), line },
    ]);
    expect(lintCasts(meet([4], [4, 1]), mixedFloat16Policy)).toMatchObject([found]);
    const meant: readonly (readonly [readonly number[], readonly number[]])[] = [
      [
        [4, 1],
        [4, 1],
      ],
      [[4, 1], [3]],
      [
        [4, 1],
        [1, 4],
      ],
      [[4, 1], []],
      [[1, 1], [1]],
      [[4, 4], [4]],
    ];
    for (const [a, b] of meant) expect(lintCasts(meet(a, b), float32Policy)).toEqual([]);
  });

  it("has nothing to say of a plain net", () => {
    expect(lintCasts(mlp(), mixedFloat16Policy)).toEqual([]);
  });

  it("warns of an epsilon that is zero in f16, naming node, scope, line and remedy", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      scope("norm", () => {
        const y = matMul(x, w);
        return div(y, add(y, 1e-8));
      }),
    );
    expect(lintCasts(graph, mixedFloat16Policy)).toEqual([
      {
        rule: "constant-vanishes",
        severity: "warning",
        node: "norm/Add",
        scope: "norm",
        line,
        message: expect.stringMatching(/^norm\/Add: 1e-8 is 0 in f16 \(at .*\)$/),
        remedy:
          'the smallest normal number of f16 is 6.10e-5; or keep it in f32 with policy.with({ scopes: { "norm": { Add: "f32" } } })',
        changes: { scopes: { norm: { Add: "f32" } } },
      },
    ]);
    expect(rules(graph, mixedBfloat16Policy)).toEqual([]);
    expect(rules(graph, mixedFloat16Policy.with({ scopes: { norm: { Add: "f32" } } }))).toEqual([]);
  });

  it("draws the line where f16 does: 2^-25 is a tie and goes to zero, anything above stays", () => {
    const plus = (epsilon: number): Graph =>
      graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => add(matMul(x, w), epsilon));
    expect(rules(plus(2 ** -25))).toEqual(["constant-vanishes Add"]);
    expect(rules(plus(2 ** -25 * 1.001))).toEqual([]);
    expect(rules(plus(0))).toEqual([]);
  });

  it("warns of clip bounds that are zero in f16, not of zeros in a table", () => {
    const clipped = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) =>
      clip(matMul(x, w), { min: 1e-9, max: 1 }),
    );
    const table = graphOf({}, { x: [1, 2] }, ({ x }) =>
      matMul(x, constant(tensor(Float32Array.of(1e-9, 1), [2, 1]))),
    );
    expect(rules(clipped)).toEqual(["constant-vanishes Clip"]);
    expect(rules(table)).toEqual([]);
  });

  it("calls a constant beyond f16 an error, as autocastGraph does", () => {
    const graph = graphOf(
      { w: [4, 4] },
      { x: [4, 4], keep: { dtype: "bool", shape: [4, 4] } },
      ({ w, x, keep }) => matMul(where(keep, matMul(x, w), -1e9), w),
    );
    expect(lintCasts(graph, mixedFloat16Policy)).toEqual([
      {
        rule: "constant-overflows",
        severity: "error",
        node: "Where",
        scope: "",
        line,
        message: expect.stringContaining("-1000000000 has no finite value in f16"),
        remedy: 'a mask in f16 is -3e4; or keep it in f32 with policy.with({ ops: { MatMul: "f32" } })',
        changes: { ops: { MatMul: "f32" } },
      },
    ]);
  });

  it("warns of a user cast that the policy undoes", () => {
    const undone = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => [
      exp(cast(matMul(x, w), "bf16")),
      matMul(cast(mul(x, 2), "bf16"), cast(w, "bf16")),
    ]);
    const kept = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => {
      const low = cast(matMul(x, w), "f16");
      const returned = cast(x, "bf16");
      return { both: [exp(low), mul(low, 2)], returned, undone: exp(returned), unused: cast(x, "f16") };
    });
    expect(lintCasts(undone, mixedFloat16Policy)).toEqual([
      {
        rule: "cast-undone",
        severity: "warning",
        node: "Cast",
        scope: "",
        line,
        message: expect.stringMatching(/^Cast: the cast to bf16 is undone, Exp takes f32 \(at .*\)$/),
        remedy: "remove the cast, or override Exp",
      },
      expect.objectContaining({ node: "Cast_1", remedy: "remove the cast, or override MatMul" }),
      expect.objectContaining({ node: "Cast_2", remedy: "remove the cast, or override MatMul" }),
    ]);
    expect(rules(kept)).toEqual([]);
    expect(rules(undone, manualPolicy)).toEqual([]);
  });

  it("takes no cast of a parameter that is kept in a half for the user's", () => {
    const f16 = { dtype: "f16", shape: [4, 4] } as const;
    const graph = graphOf({ w: f16 }, { x: [4, 4] }, ({ w, x }) => matMul(x, cast(w, "f32")));
    expect(rules(graph)).toEqual([]);
  });

  it("warns of a loss in f16", () => {
    const loss = graphOf({ w: [4] }, { x: [4] }, ({ w, x }) => reduceMean(mul(w, x)));
    expect(lintCasts(loss, float16Policy)).toEqual([
      expect.objectContaining({
        rule: "half-loss",
        node: "result",
        remedy: expect.stringContaining("output=f32"),
      }),
    ]);
    expect(rules(loss, float16Policy.with({ output: "f32" }))).toEqual([]);
    expect(rules(loss, float32Policy)).toEqual([]);
  });

  it("warns of a scope that no operator lies in, with those there are", () => {
    const loss = graphOf({ w: [4] }, { x: [4] }, ({ w, x }) =>
      add(
        scope("head", () => reduceMean(mul(w, x))),
        scope("body", () => scope("inner", () => reduceMean(x))),
      ),
    );
    const policy = (path: string) => mixedFloat16Policy.with({ scopes: { [path]: "f32" } });
    expect(lintCasts(loss, policy("haed"))).toEqual([
      {
        rule: "scope-unmatched",
        severity: "warning",
        node: "policy",
        scope: "haed",
        message: 'policy: no operator lies in scope "haed"',
        remedy: "the scopes are head, body/inner",
      },
    ]);
    for (const path of ["head", "body", "body/inner"]) expect(rules(loss, policy(path))).toEqual([]);
    expect(lintCasts(loss, policy("hea"))).toMatchObject([
      { remedy: "did you mean head? the scopes are head, body/inner" },
    ]);
    expect(rules(loss, policy("haed").with({ compute: "f32" }))).toEqual([]);
    const plain = graphOf({ w: [4] }, { x: [4] }, ({ w, x }) => reduceMean(mul(w, x)));
    expect(lintCasts(plain, policy("head"))).toMatchObject([
      { remedy: "there are no scopes; name them with scope(...)" },
    ]);
  });
});
