import { type DType, type Graph, GraphBuilder, type OpAttributes, type Shape, type Value } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { Emitter } from "../stablehlo/index.js";
import { isFlash } from "./attention.js";
import { emitGraph } from "./emit-graph.js";

const HEADS: Shape = [2, 4, 16, 8];
const PLAIN: OpAttributes["Attention"] = { scale: 0.25, isCausal: true, softcap: 0 };

/** Attention and its gradient, for values of shape `key`, whose heads and positions may differ from the query's. */
function both(
  attributes: Partial<OpAttributes["Attention"]>,
  dtype: DType,
  key: Shape,
  ...mask: Shape[]
): Graph {
  const builder = new GraphBuilder();
  const input = (name: string, shape: Shape): Value => builder.input(name, { dtype, shape }, "batch");
  const dy = input("dy", [...HEADS.slice(0, 3), key[3] ?? 0]);
  const query = input("query", [...HEADS.slice(0, 3), 8]);
  const operands = [query, input("key", [...key.slice(0, 3), 8]), input("value", key)];
  const all = [...operands, ...mask.map((shape) => input("mask", shape))];
  const given = { ...PLAIN, ...attributes };
  const y = builder.emitOne("Attention", all, given);
  const [toQuery, toKey, toValue] = builder.emit("AttentionGradient", [dy, ...all], given) as [
    Value,
    Value,
    Value,
  ];
  return builder.finish({ y, toQuery, toKey, toValue });
}

describe("attention as cuDNN's", () => {
  it("is two calls, and the gradient reads the statistics of the first", () => {
    const graph = both({}, "bf16", [2, 2, 24, 8]);
    const emitter = new Emitter({ tf32: false, devices: 1 });
    const operands = graph.inputs.map(({ name, value }) => ({ name: `%${name}`, type: value }));
    const results = emitGraph(emitter, graph, operands);
    expect(results.map(({ type }) => type)).toMatchObject(
      graph.outputs.map(({ value: { shape } }) => ({ shape })),
    );
    const calls = emitter
      .text()
      .split("\n")
      .filter((line) => line.includes("custom_call"));
    expect(calls).toHaveLength(2);
    const [forward = "", backward = ""] = calls;
    const made = /^(%\d+):3 = stablehlo.custom_call @__cudnn\$fmhaSoftmax\(/.exec(forward)?.[1];
    expect(forward).toMatch(/-> \(tensor<2x4x16x8xbf16>, tensor<2x4x16xf32>, tensor<0xui8>\)$/);
    expect(backward).toContain("@__cudnn$fmhaSoftmaxBackward(");
    expect(backward).toContain(`, ${made}#1, `);
    expect(backward).toMatch(
      /-> \(tensor<2x4x16x8xbf16>, tensor<2x2x24x8xbf16>, tensor<2x2x24x8xbf16>, tensor<0xui8>\)$/,
    );
    for (const call of calls) {
      const quoted = /backend_config = ("(?:[^"\\]|\\.)*")/.exec(call)?.[1] ?? "";
      expect(JSON.parse(JSON.parse(quoted))).toMatchObject({
        cudnn_fmha_backend_config: {
          fmha_scale: 0.25,
          mask_type: "CAUSAL",
          intermediate_tensor_shape: { element_type: "BF16", dimensions: ["2", "4", "16", "24"] },
        },
      });
    }
  });

  it.each([
    ["halves", true, both({}, "f16", [2, 4, 16, 8])],
    ["no other mask", true, both({ isCausal: false }, "bf16", [2, 4, 16, 8])],
    ["no f32", false, both({}, "f32", [2, 4, 16, 8])],
    ["no mask of numbers", false, both({}, "bf16", [2, 4, 16, 8], [16, 16])],
    ["no softcap", false, both({ softcap: 2 }, "bf16", [2, 4, 16, 8])],
    ["no values of another size", false, both({}, "bf16", [2, 4, 16, 16])],
    ["nothing without elements", false, both({}, "bf16", [2, 4, 0, 8])],
  ] as const)("takes %s", (_, isTaken, { nodes }) => {
    expect(nodes.map(isFlash)).toEqual([isTaken, isTaken]);
  });
});
