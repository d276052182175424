import { describe, expect, it } from "vitest";
import { type GradientCase, pointOf } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import { tensor } from "../../host/host-tensor.js";
import { emitAll } from "../../trace/emit.js";
import { attention } from "../../trace/ops/attention.js";
import { add, mul } from "../../trace/ops/binary.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { constant } from "../../trace/ops/source.js";
import type { Tensor } from "../../trace/tensor.js";
import { traceInto } from "../../trace/trace.js";
import { expandAttentions } from "../../transform/expand-attention.js";
import { grad } from "../grad.js";
import { attentionGradients } from "./attention.js";

const bools = (...rows: readonly (readonly number[])[]): Tensor =>
  constant(tensor(Uint8Array.from(rows.flat()), [rows.length, rows[0]?.length ?? 0], "bool"));

const operands = (query: readonly number[], key: readonly number[], value: readonly number[]) => [
  pointOf(query, 1),
  pointOf(key, 2),
  pointOf(value, 3),
];

const small = operands([1, 2, 3, 2], [1, 2, 4, 2], [1, 2, 4, 3]);
const grouped = operands([2, 4, 2, 2], [2, 2, 3, 2], [2, 2, 3, 2]);

const cases: readonly GradientCase[] = [
  {
    op: "Attention",
    name: "plain",
    fn: (q, k, v) => attention(q as Tensor, k as Tensor, v as Tensor),
    points: small,
  },
  {
    op: "Attention",
    name: "causal and scaled",
    fn: (q, k, v) => attention(q as Tensor, k as Tensor, v as Tensor, { isCausal: true, scale: 1.5 }),
    points: small,
  },
  {
    op: "Attention",
    name: "grouped, with a softcap",
    fn: (q, k, v) => attention(q as Tensor, k as Tensor, v as Tensor, { softcap: 0.75 }),
    points: grouped,
  },
  {
    op: "Attention",
    name: "a mask that lets one query attend to nothing",
    fn: (q, k, v) =>
      attention(q as Tensor, k as Tensor, v as Tensor, {
        mask: bools([1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]),
      }),
    points: small,
  },
  {
    op: "Attention",
    name: "a causal mask by batch that leaves the first query nothing",
    fn: (q, k, v) =>
      attention(q as Tensor, k as Tensor, v as Tensor, { mask: bools([0, 1, 1]), isCausal: true }),
    points: grouped,
  },
  {
    op: "Attention",
    name: "numbers added",
    fn: (q, k, v, mask) =>
      attention(q as Tensor, k as Tensor, v as Tensor, { mask: mask as Tensor, softcap: 2, isCausal: true }),
    points: [...grouped, pointOf([1, 2, 3], 4)],
  },
  {
    op: "AttentionGradient",
    name: "of all operands",
    fn: (...all) =>
      emitAll("AttentionGradient", all as readonly Tensor[], { scale: 0.5, isCausal: true, softcap: 2 })
        .map((slope) => reduceSum(mul(slope, slope)))
        .reduce((sum, part) => add(sum, part)),
    points: [pointOf([2, 4, 2, 2], 5), ...grouped, pointOf([1, 2, 3], 4)],
  },
];

testGradients(attentionGradients, cases);

describe("the gradient of attention", () => {
  it("keeps no probabilities of the forward pass: what is as large as they are is made after the barrier", () => {
    const type = { dtype: "f32", shape: [1, 2, 8, 4] } as const;
    const inputs = ["q", "k", "v"].map((name) => ({ name, role: "batch" as const, type }));
    const { graph } = traceInto(inputs, (tensors) =>
      grad((all: readonly Tensor[]) =>
        reduceSum(attention(...(all as readonly [Tensor, Tensor, Tensor]), { isCausal: true })),
      )(tensors),
    );
    const { nodes } = expandAttentions(graph, ({ op }) => op === "AttentionGradient");
    const ops = nodes.map(({ op }) => op);
    const large = nodes.findIndex(({ outputs }) => outputs.some(({ shape }) => shape.join() === "1,2,8,8"));
    expect(ops.filter((op) => op === "Attention")).toHaveLength(1);
    expect(large).toBeGreaterThan(ops.indexOf("Barrier"));
    expect(ops.indexOf("Barrier")).toBeGreaterThan(ops.indexOf("Attention"));
  });
});
