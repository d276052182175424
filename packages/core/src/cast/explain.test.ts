import { scope } from "@mp/graph";
import { add, cast, exp, gelu, greater, matMul, mul, relu, reshape } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { manifestOf } from "../../../graph/test/test-manifest.js";
import { attention, graphOf, handLoss, mlp } from "../../../graph/test/traced-nets.js";
import { diffCastReports, explainCasts, formatCastReport } from "./explain.js";
import { float32Policy, mixedBfloat16Policy, mixedFloat16Policy } from "./policy.js";

const withoutLines = (text: string): string => text.replace(/ {2}\(\/.*\)/g, "");

describe("explainCasts", () => {
  it("gives every node's dtype and reason, and the casts", () => {
    const text = formatCastReport(explainCasts(handLoss(), mixedFloat16Policy));
    expect(withoutLines(text)).toMatchInlineSnapshot(`
      "params=f32,compute=f16,output=f32  924a18a5304490c2
      f16    Relu         every consumer is low-precision
      f16    MatMul       allow list
      f16    ReduceMax    widest operand
      f16    Sub          widest operand
      f32    Exp          deny list
      f32    ReduceSum    deny list
      f32    Div          downstream of a deny-list op: Exp
      f32    Gelu         downstream of a deny-list op: Exp
      f32    Mul          downstream of a deny-list op: Exp
      f32    ReduceSum_1  deny list
      3 casts
        x: f32 to f16, before Relu
        w: f32 to f16, before MatMul
        Sub: f16 to f32, before Exp
      "
    `);
    expect(text).toMatch(/MatMul +allow list {2}\(.*traced-nets\.ts:\d+:\d+\)/);
  });

  it("has a rule for each way a node is decided", () => {
    const graph = graphOf({ w: [4, 4], b: [2, 2] }, { x: [4, 4], n: { dtype: "i32", shape: [4] } }, (t) => {
      const y = scope("body", () => matMul(relu(t.x), t.w));
      return {
        between: matMul(mul(y, 2), t.w),
        behind: gelu(y),
        alone: gelu(t.x),
        denied: gelu(mul(exp(y), y)),
        weak: mul(t.b, 2),
        given: add(t.n, 1),
        greater: greater(y, t.x),
        cast: cast(y, "f16"),
        head: scope("head", () => relu(y)),
        reshaped: matMul(reshape(t.x, [4, 4]), t.w),
      };
    });
    const policy = mixedFloat16Policy.with({ scopes: { head: "f32" } });
    const { nodes } = explainCasts(graph, policy);
    const rows = nodes.map(({ node, dtype, rule, because }) =>
      [node, dtype, rule, because ?? ""].join(" | "),
    );
    expect(rows.join("\n")).toMatchInlineSnapshot(`
      "body/Relu | f16 | every consumer is low-precision | 
      body/MatMul | f16 | allow list | 
      Constant | f16 | constant | 
      Mul | f16 | between low-precision ops | 
      MatMul | f16 | allow list | 
      Gelu | f16 | downstream of a low-precision op | 
      Gelu_1 | f32 | no low-precision producer | 
      Exp | f32 | deny list | 
      Mul_1 | f32 | downstream of a deny-list op | Exp
      Gelu_2 | f32 | downstream of a deny-list op | Exp
      Mul_2 | f32 | parameters and scalars only | 
      Constant_1 | i32 | as written | 
      Add | i32 | not floating | 
      Greater | f32 | widest operand | x
      Cast | f16 | user cast | 
      head/Relu | f32 | override | head
      Reshape | f16 | every consumer is low-precision | 
      MatMul_1 | f16 | allow list | "
    `);
  });

  it("says which backend's reason kept a node in f32", () => {
    const manifest = manifestOf({ opDTypes: { MatMul: ["f32"] } }, (op) => op !== "Gelu");
    const { nodes } = explainCasts(mlp(), mixedFloat16Policy, { manifest });
    const reasons = nodes
      .filter(({ rule }) => rule === "no kernel")
      .map(({ op, because }) => `${op}: ${because}`);
    expect(reasons).toEqual([
      "MatMul: no f16 kernel for MatMul",
      "Gelu: no kernel",
      "MatMul: no f16 kernel for MatMul",
    ]);
  });

  it("reports errors instead of throwing them", () => {
    const graph = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => matMul(mul(matMul(x, w), 1e6), w));
    const report = explainCasts(graph, mixedFloat16Policy);
    expect(report.lints).toHaveLength(1);
    expect(formatCastReport(report)).toContain("error: Mul: 1000000 has no finite value in f16");
  });

  it("casts nothing in f32", () => {
    const report = explainCasts(mlp(), float32Policy);
    expect(report.casts).toEqual([]);
    expect(new Set(report.nodes.map(({ dtype, rule }) => `${dtype} ${rule}`))).toEqual(
      new Set(["f32 as written"]),
    );
  });
});

describe("the hash of a plan", () => {
  it("is the same for the same plan, whatever lines it was written on", () => {
    const here = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => matMul(x, w));
    const there = graphOf({ w: [4, 4] }, { x: [4, 4] }, ({ w, x }) => matMul(x, w));
    const [a, b] = [here, there].map((net) => explainCasts(net, mixedFloat16Policy));
    expect(a?.nodes[0]?.line).not.toBe(b?.nodes[0]?.line);
    expect(a?.hash).toBe(b?.hash);
    expect(a?.hash).toMatch(/^[0-9a-f]{16}$/);
  });

  it("differs with policy, overrides and graph", () => {
    const hashes = [
      explainCasts(mlp(), mixedFloat16Policy),
      explainCasts(mlp(), mixedBfloat16Policy),
      explainCasts(mlp(), mixedFloat16Policy.with({ ops: { Gelu: "f32" } })),
      explainCasts(attention(), mixedFloat16Policy),
    ].map(({ hash }) => hash);
    expect(new Set(hashes).size).toBe(4);
  });
});

describe("diffCastReports", () => {
  it("names the nodes that compute in another dtype", () => {
    const before = explainCasts(mlp(), mixedFloat16Policy);
    const after = explainCasts(mlp(), mixedFloat16Policy.with({ scopes: { out: "f32" } }));
    expect(diffCastReports(before, before)).toEqual([]);
    const rows = diffCastReports(before, after).map(
      (row) =>
        `${row.node}: ${row.before?.dtype} ${row.before?.rule} -> ${row.after?.dtype} ${row.after?.rule}`,
    );
    expect(rows).toEqual([
      "out/MatMul: f16 allow list -> f32 override",
      "out/Add: f16 widest operand -> f32 override",
    ]);
    const other = explainCasts(handLoss(), mixedFloat16Policy);
    expect(diffCastReports(before, other).find(({ node }) => node === "Exp")?.before).toBeUndefined();
  });
});
