import { describe, expect, it } from "vitest";
import type { DType } from "../dtype.js";
import { GraphBuilder } from "../graph/build/builder.js";
import { printGraph } from "../graph/print.js";
import { tensor } from "../host/host-tensor.js";
import { evaluate } from "../reference/evaluate.js";
import { add, div, greater, mul, sub, where } from "../trace/ops/binary.js";
import { matMul } from "../trace/ops/matrix.js";
import { expand, reshape, slice, squeeze, transpose, unsqueeze } from "../trace/ops/movement.js";
import { reduceSum } from "../trace/ops/reduce.js";
import { constant, literal } from "../trace/ops/source.js";
import { cast, exp, identity } from "../trace/ops/unary.js";
import { key, randomBernoulli } from "../trace/random/random.js";
import { randomNormal } from "../trace/random/random-normal.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto } from "../trace/trace.js";
import { foldConstants } from "./constant-folding.js";
import { eliminateDeadCode } from "./dead-code.js";
import { prepareGraph } from "./prepare.js";

/** The function's graph after folding, printed. */
function folded(fn: (x: Tensor) => unknown, dtype: DType = "f32", shape: readonly number[] = [2, 3]): string {
  const { graph } = traceInto([{ name: "x", role: "batch", type: { dtype, shape } }], ([x]) =>
    fn(x as Tensor),
  );
  return printGraph(eliminateDeadCode(foldConstants(graph)));
}
const NOTHING = 'return "result" %0\n';
const leavesNothing = (fn: (x: Tensor) => Tensor, dtype?: DType): void =>
  expect(folded(fn, dtype).split("\n").slice(1).join("\n")).toBe(NOTHING);
const stays = (fn: (x: Tensor) => Tensor, ...ops: readonly string[]): void => {
  for (const op of ops) expect(folded(fn)).toContain(` = ${op}(`);
};

describe("folding", () => {
  it("drops what is the identity to the bit", () => {
    leavesNothing(identity);
    leavesNothing((x) => mul(x, 1));
    leavesNothing((x) => mul(1, x));
    leavesNothing((x) => div(x, 1));
    leavesNothing((x) => sub(x, 0));
    leavesNothing((x) => add(x, -0));
    leavesNothing((x) => mul(x, constant(tensor(Float32Array.of(1), [1, 1]))));
  });

  it("keeps what changes a bit, a shape or an infinity", () => {
    stays((x) => add(x, 0), "Add");
    stays((x) => sub(x, -0), "Sub");
    stays((x) => mul(x, 0), "Mul");
    stays((x) => div(1, x), "Div");
    stays((x) => mul(x, constant(tensor(Float32Array.of(1), [1, 1, 1]))), "Mul");
    stays((x) => sub(x, x), "Sub");
  });

  it("computes scalar constants, rounded once to their dtype", () => {
    expect(folded((x) => mul(x, div(literal(1), 3)))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[] = Constant() {value=f32[](0.3333333432674408) literal=0.3333333333333333}
      %2:f32[2, 3] = Mul(%0, %1)
      return "result" %2
      "
    `);
    expect(folded((x) => mul(x, add(literal(2049, "f16"), 1)), "f16")).toMatchInlineSnapshot(`
      "%0 = batch "x" : f16[2, 3]
      %1:f16[] = Constant() {value=f16[](26624) literal=2050}
      %2:f16[2, 3] = Mul(%0, %1)
      return "result" %2
      "
    `);
    expect(folded((x) => mul(x, cast(literal(0.1), "bf16")), "bf16")).toMatchInlineSnapshot(`
      "%0 = batch "x" : bf16[2, 3]
      %1:bf16[] = Constant() {value=bf16[](15821) literal=0.1}
      %2:bf16[2, 3] = Mul(%0, %1)
      return "result" %2
      "
    `);
  });

  it("makes chains of views one Reshape, or nothing", () => {
    leavesNothing((x) => squeeze(unsqueeze(x, [0, 2])));
    leavesNothing((x) => reshape(reshape(x, [6]), [2, 3]));
    expect(folded((x) => reshape(unsqueeze(reshape(x, [6]), [0]), [3, 2]))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[3, 2] = Reshape(%0) {shape=[3,2]}
      return "result" %1
      "
    `);
    expect(folded((x) => mul(x, expand(reshape(literal(2), [1, 1]), [2, 3])))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[1, 1] = Constant() {value=f32[1, 1](2) literal=2}
      %2:f32[2, 3] = Mul(%0, %1)
      return "result" %2
      "
    `);
  });

  it("joins Transposes and Expands", () => {
    leavesNothing((x) => transpose(transpose(x)));
    leavesNothing((x) => transpose(x, [0, 1]));
    expect(
      folded((x) => transpose(transpose(unsqueeze(x, [2]), [2, 0, 1]), [0, 2, 1])),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[2, 3, 1] = Unsqueeze(%0) {axes=[2]}
      %2:f32[1, 3, 2] = Transpose(%1) {perm=[2,1,0]}
      return "result" %2
      "
    `);
    expect(folded((x) => expand(expand(x, [1, 2, 3]), [4, 2, 3]))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[4, 2, 3] = Expand(%0) {shape=[4,2,3]}
      return "result" %1
      "
    `);
  });

  it("drops a cast back from a wider dtype, and casts straight past one", () => {
    leavesNothing((x) => cast(cast(x, "f32"), "f16"), "f16");
    leavesNothing((x) => cast(cast(x, "f32"), "bf16"), "bf16");
    expect(folded((x) => cast(cast(x, "f32"), "bf16"), "f16")).toMatchInlineSnapshot(`
      "%0 = batch "x" : f16[2, 3]
      %1:bf16[2, 3] = Cast(%0) {to=bf16}
      return "result" %1
      "
    `);
    // Narrowing rounds: these are not the identity.
    expect(folded((x) => cast(cast(x, "f16"), "f32"))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f16[2, 3] = Cast(%0) {to=f16}
      %2:f32[2, 3] = Cast(%1) {to=f32}
      return "result" %2
      "
    `);
    expect(folded((x) => cast(cast(x, "bf16"), "f16"), "f16")).toContain("Cast(%1)");
  });

  it("lets operators broadcast by themselves where their result keeps its shape", () => {
    expect(folded((x) => mul(x, expand(exp(literal(2)), [2, 3])))).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[] = Constant() {value=f32[](2) literal=2}
      %2:f32[] = Exp(%1)
      %3:f32[2, 3] = Mul(%0, %2)
      return "result" %3
      "
    `);
    expect(
      folded(() => mul(expand(exp(literal(2)), [2, 3]), expand(exp(literal(3)), [2, 3]))),
    ).toMatchInlineSnapshot(`
      "%0 = batch "x" : f32[2, 3]
      %1:f32[] = Constant() {value=f32[](2) literal=2}
      %2:f32[] = Exp(%1)
      %3:f32[] = Constant() {value=f32[](3) literal=3}
      %4:f32[] = Exp(%3)
      %5:f32[2, 3] = Expand(%4) {shape=[2,3]}
      %6:f32[2, 3] = Mul(%2, %5)
      return "result" %6
      "
    `);
    expect(folded((x) => where(greater(x, 0), x, expand(exp(literal(2)), [2, 3])))).not.toContain("Expand");
  });

  it("keeps names of origins right when nodes go", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
    const gone = builder.emitOne("Identity", [x], {});
    const kept = builder.emitOne("Identity", [builder.emitOne("Exp", [gone], {})], {});
    const first = builder.emitOne("Tanh", [kept], {});
    const second = builder.emitOne(
      "Mul",
      [builder.emitOne("Mul", [first, builder.literal(1, "f32")], {}), first],
      {},
    );
    const last = builder.emitOne("Neg", [second], {}, { scope: "", phase: "backward", forward: "Mul_1" });
    const graph = foldConstants(builder.finish({ last }));
    expect(graph.nodes.map(({ name }) => name)).toEqual(["Exp", "Tanh", "Constant", "Mul", "Neg"]);
    expect(graph.nodes.at(-1)?.origin.forward).toBe("Mul");
  });
});

it("makes what has no elements without computing anything, random numbers too", () => {
  const empty = (x: Tensor) => ({
    sum: reduceSum(mul(slice(x, [{ axis: 0, end: 0 }]), 2)),
    noise: randomNormal(key(1), [0, 4]),
    mask: randomBernoulli(key(2), 0.5, [3, 0]),
    rows: matMul(x, constant(tensor(new Float32Array(0), [3, 0]))),
  });
  const text = folded(empty);
  expect(text).not.toMatch(/RandomBits|MatMul|Slice|Mul|Gather/);
  expect(text).toContain("f32[0, 4]");
  expect(text).toContain("bool[3, 0]");
  const { graph } = traceInto([{ name: "x", role: "batch", type: { dtype: "f32", shape: [2, 3] } }], ([x]) =>
    empty(x as Tensor),
  );
  const x = tensor(new Float32Array(6).fill(1), [2, 3]);
  expect(evaluate(prepareGraph(graph), { x })).toEqual(evaluate(graph, { x }));
});
