import {
  isHostTensor,
  key,
  leavesOf,
  mixedFloat16,
  rebuildTree,
  type Tensor,
  type Traced,
  tensor,
} from "@mp/core";
import { autocastGraph, traceInto } from "@mp/core/graph";
import { constant } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../test/run-layer.js";
import { encoderLayer, gru, multiHeadAttention } from "./index.js";

const sequence = (time: number, from = 0) =>
  tensor(
    Float32Array.from({ length: 2 * time * 4 }, (_, index) => Math.sin(from + index)),
    [2, time, 4],
  );
const params = multiHeadAttention(4, 2).init(key(1));

describe("multiHeadAttention", () => {
  it("names the option that `causal` is here", () => {
    expect(() => multiHeadAttention(4, 2, { causal: true } as never)).toThrow(
      'multiHeadAttention: has no option "causal"; did you mean isCausal?',
    );
  });

  it("looks back only, when causal: what comes later changes nothing before", () => {
    const layer = multiHeadAttention(4, 2, { isCausal: true });
    const [x, z] = [sequence(5), sequence(5)];
    for (const batch of [0, 1]) for (let i = 12; i < 20; i++) z.data[batch * 20 + i] = 9;
    const [a, b] = [x, z].map((source) =>
      numbers(run({ params, source }, (t) => layer.apply(t.params, t.source))),
    );
    for (const batch of [0, 1]) {
      const before = (y: readonly number[] | undefined) => y?.slice(batch * 20, batch * 20 + 12);
      expect(before(a)).toEqual(before(b));
    }
    expect(a).not.toEqual(b);
  });

  it("attends to memory where the mask lets it, and is a plain layer of a tensor otherwise", () => {
    const layer = multiHeadAttention(4, 2);
    const [x, memory] = [sequence(3), sequence(2, 50)];
    const mask = tensor(Uint8Array.of(1, 0), [1, 1, 1, 2], "bool");
    const masked = run({ params, x, memory, mask }, ({ params, ...input }) => layer.apply(params, input));
    const first = tensor(
      Float32Array.from([...memory.data.subarray(0, 4), ...memory.data.subarray(8, 12)]),
      [2, 1, 4],
    );
    const alone = run({ params, x, memory: first }, ({ params, ...input }) => layer.apply(params, input));
    for (const [index, value] of numbers(masked).entries())
      expect(value).toBeCloseTo(numbers(alone)[index] ?? 0, 12);
    expect(numbers(run({ params, x }, (t) => layer.apply(t.params, t.x)))).toEqual(
      numbers(run({ params, x }, (t) => layer.apply(t.params, { x: t.x, memory: t.x }))),
    );
  });

  it.each([false, true])("attends alike by the operator attention, causal %s", (isCausal) => {
    const [x, memory] = [sequence(3), sequence(4, 50)];
    const mask = tensor(Uint8Array.of(1, 0, 1, 1), [1, 1, 1, 4], "bool");
    const [written, fused] = [false, true].map((fused) => {
      const layer = multiHeadAttention(4, 2, { isCausal, fused });
      return numbers(run({ params, x, memory, mask }, (t) => layer.apply(t.params, t)));
    });
    written?.forEach((value, index) => {
      expect(fused?.[index]).toBeCloseTo(value, 6);
    });
    const { graph } = traceInto([{ name: "x", role: "batch", type: x }], ([source]) =>
      multiHeadAttention(4, 2, { fused: true }).apply(
        rebuildTree(
          params,
          isHostTensor,
          leavesOf(params, isHostTensor, "data").map(([, leaf]) => constant(leaf)),
        ) as Traced<typeof params>,
        source as Tensor,
      ),
    );
    expect(graph.nodes.filter(({ op }) => op === "Attention")).toHaveLength(1);
  });

  it("refuses a dropout of the weights of a fused layer", () => {
    expect(() => multiHeadAttention(4, 2, { fused: true, dropout: 0.1 })).toThrow(
      "a fused layer has no dropout of its attention weights, got 0.1",
    );
    expect(() => encoderLayer(4, 2, { fused: true, dropout: 0.1 })).not.toThrow();
  });

  it("keeps its softmax in f32 and its products in the half, by the policy", () => {
    const layer = multiHeadAttention(4, 2, { isCausal: true });
    const x = sequence(3);
    const leaves = leavesOf({ params, x }, isHostTensor, "data");
    const inputs = leaves.map(([name, type]) => ({ name, role: "batch" as const, type }));
    const { graph } = traceInto(inputs, (tensors) => {
      const t = rebuildTree({ params, x }, isHostTensor, tensors) as Traced<{
        params: typeof params;
        x: typeof x;
      }>;
      return { y: layer.apply(t.params, t.x) };
    });
    const { nodes } = autocastGraph(graph, mixedFloat16().policy);
    const dtypes = (op: string) =>
      nodes.filter((node) => node.op === op).map(({ outputs }) => outputs[0]?.dtype);
    expect(dtypes("Softmax")).toEqual(["f32"]);
    expect(new Set(dtypes("MatMul"))).toEqual(new Set(["f16"]));
  });

  it("drops attention only while training, and needs the context for it", () => {
    const layer = multiHeadAttention(4, 2, { dropout: 0.5 });
    const x = sequence(3);
    const at = (training: boolean): readonly number[] =>
      numbers(run({ params, x }, (t) => layer.apply(t.params, t.x, { training, key: key(3) })));
    expect(at(false)).toEqual(
      numbers(run({ params, x }, (t) => multiHeadAttention(4, 2).apply(t.params, t.x))),
    );
    expect(at(true)).not.toEqual(at(false));
    expect(() => run({ params, x }, (t) => layer.apply(t.params, t.x))).toThrow(/needs the context/);
  });

  it.each([
    [() => multiHeadAttention(4, 3), "3 heads do not divide a size of 4"],
    [() => multiHeadAttention(4, 2, { mask: true } as never), 'has no option "mask"'],
    [
      () =>
        run({ params, x: tensor(new Float32Array(8), [2, 4]) }, (t) =>
          multiHeadAttention(4, 2).apply(t.params, t.x),
        ),
      "x must be [batch, time, 4], got [2, 4]",
    ],
    [
      () =>
        run(
          { params, x: sequence(2), memory: tensor(new Float32Array(4), [1, 1, 4]) },
          ({ params, ...input }) => multiHeadAttention(4, 2).apply(params, input),
        ),
      "x has a batch of 2, memory of 1",
    ],
    [
      () =>
        run(
          { p: gru(4, 2).init(key(1)), x: sequence(2), hidden: tensor(new Float32Array(2), [1, 2]) },
          ({ p, ...input }) => gru(4, 2).apply(p, input),
        ),
      "gru: the hidden state of a batch of 2 must be [2, 2], got [1, 2]",
    ],
    [
      () =>
        run(
          { p: gru(3, 2).init(key(1)), x: sequence(2), hidden: tensor(new Float32Array(4), [2, 2]) },
          ({ p, ...input }) => gru(3, 2).apply(p, input),
        ),
      "gru: takes [time, batch, 3], got [2, 2, 4]",
    ],
  ])("refuses what does not fit: %#", (make, message) => {
    expect(make).toThrow(message);
  });
});
