import { describe, expect, it } from "vitest";
import { graphOfOp } from "../../test/evaluate-op.js";
import type { DType, FloatDType } from "../dtype.js";
import { roundTo } from "../float-format/round.js";
import type { OpAttributes } from "../graph/attributes.js";
import type { Graph, ValueType } from "../graph/graph.js";
import { evaluateRaw, type RawTensor } from "../reference/evaluate.js";
import type { Shape } from "../shape.js";
import { expandAttentions } from "./expand-attention.js";

interface Form {
  readonly query: Shape;
  readonly key: Shape;
  readonly mask?: Shape;
  readonly attributes?: Partial<OpAttributes["Attention"]>;
}

const FORMS: Readonly<Record<string, Form>> = {
  plain: { query: [2, 2, 3, 4], key: [2, 2, 5, 4] },
  causal: { query: [1, 2, 4, 2], key: [1, 2, 3, 2], attributes: { isCausal: true } },
  "grouped and capped": { query: [2, 6, 2, 3], key: [2, 2, 4, 3], attributes: { softcap: 2, scale: 1.5 } },
  masked: { query: [2, 4, 3, 2], key: [2, 2, 5, 2], mask: [3, 5] },
  "masked by head, causal": {
    query: [2, 4, 3, 2],
    key: [2, 2, 5, 2],
    mask: [4, 1, 5],
    attributes: { isCausal: true },
  },
  "without keys": { query: [1, 2, 3, 2], key: [1, 2, 0, 2] },
  "without queries": { query: [1, 2, 0, 2], key: [1, 2, 3, 2] },
};

function typesOf({ query, key, mask }: Form, dtype: DType, maskDType: DType): readonly ValueType[] {
  const types = [query, key, key].map((shape) => ({ dtype, shape }));
  return mask === undefined ? types : [...types, { dtype: maskDType, shape: mask }];
}

const attributesOf = ({ attributes }: Form): OpAttributes["Attention"] => ({
  scale: 0.5,
  isCausal: false,
  softcap: 0,
  ...attributes,
});

const attentionOf = (form: Form, dtype: DType, maskDType: DType = "bool"): Graph =>
  graphOfOp("Attention", typesOf(form, dtype, maskDType), attributesOf(form));

const gradientOf = (form: Form, dtype: DType, maskDType: DType): Graph =>
  graphOfOp(
    "AttentionGradient",
    [{ dtype, shape: form.query }, ...typesOf(form, dtype, maskDType)],
    attributesOf(form),
  );

/** Whether an input is a mask: the fourth of Attention, the fifth of its gradient. */
const isMask = ({ nodes }: Graph, input: number): boolean =>
  input === (nodes[0]?.op === "AttentionGradient" ? 4 : 3);

/** Inputs with fixed numbers. The first row of a mask attends to nothing: it is all 0 (bool) or -∞. */
function inputsOf(graph: Graph): Readonly<Record<string, RawTensor>> {
  return Object.fromEntries(
    graph.inputs.map(({ name, value: { dtype, shape } }, input): [string, RawTensor] => {
      const size = shape.reduce((product, length) => product * length, 1);
      const width = shape.at(-1) ?? 1;
      const numbers = Array.from({ length: size }, (_, at) => {
        if (dtype === "bool") return at < width ? 0 : (at * 5) % 3 === 0 ? 0 : 1;
        if (isMask(graph, input)) return at < width ? Number.NEGATIVE_INFINITY : (at % 4) - 2;
        return roundTo(dtype as FloatDType, Math.sin(at * 1.7 + input));
      });
      const data = dtype === "bool" ? Uint8Array.from(numbers) : Float32Array.from(numbers);
      return [name, { dtype, shape, data }];
    }),
  );
}

const resultOf = (graph: Graph, inputs = inputsOf(graph)): readonly number[] =>
  Object.values(evaluateRaw(graph, inputs)).flatMap(({ data }) => Array.from(data as Float32Array));

describe.each(Object.entries(FORMS))("attention, %s", (_, form) => {
  it.each(["f32", "f16", "bf16"] as const)("in %s is what the definition says", (dtype) => {
    for (const maskDType of form.mask === undefined ? ["bool" as const] : (["bool", "f32", dtype] as const)) {
      const graph = attentionOf(form, dtype, maskDType);
      const expanded = expandAttentions(graph);
      expect(expanded.nodes.map(({ op }) => op)).not.toContain("Attention");
      // The same arithmetic in the same order: the same bits.
      expect(resultOf(expanded)).toEqual(resultOf(graph));
      const backward = gradientOf(form, dtype, maskDType);
      const parts = expandAttentions(backward);
      expect(parts.nodes.map(({ op }) => op)).not.toContain("AttentionGradient");
      expect(resultOf(parts, inputsOf(backward))).toEqual(resultOf(backward));
    }
  });
});

describe("expandAttentions", () => {
  it("hides no NaN of a mask, as the definition", () => {
    const form: Form = { query: [1, 2, 3, 2], key: [1, 2, 5, 2], mask: [3, 5] };
    const graph = attentionOf(form, "f32", "f32");
    // A row with one NaN, one of nothing else than NaN and -∞, and one of numbers.
    const mask = Array.from({ length: 15 }, (_, at) =>
      at === 1 || at === 6 ? Number.NaN : at >= 5 && at < 10 ? Number.NEGATIVE_INFINITY : 0.5,
    );
    const inputs = inputsOf(graph);
    const [name] = Object.keys(inputs).slice(-1) as [string];
    const given = {
      ...inputs,
      [name]: { dtype: "f32", shape: [3, 5], data: Float32Array.from(mask) } as const,
    };
    const [defined, expanded] = [graph, expandAttentions(graph)].map((each) =>
      Array.from(evaluateRaw(each, given)["y0"]?.data as Float32Array, Number.isNaN),
    );
    expect(expanded).toEqual(defined);
    expect(expanded?.slice(0, 6)).toEqual([true, true, true, true, false, false]);
  });

  it("repeats no keys for queries that share them", () => {
    const { nodes } = expandAttentions(attentionOf(FORMS["grouped and capped"] as Form, "f32"));
    expect(nodes.filter(({ op }) => op === "MatMul").map(({ inputs }) => inputs[1]?.shape)).toEqual([
      [2, 2, 3, 4],
      [2, 2, 4, 3],
    ]);
    expect(nodes.map(({ op }) => op)).not.toContain("Expand");
  });

  it("expands in bodies of loops, and leaves a graph without any alone", () => {
    const body = attentionOf({ query: [1, 1, 2, 2], key: [1, 1, 2, 2] }, "f32");
    const type = { dtype: "f32", shape: [1, 1, 2, 2] } as const;
    const counts = { carries: 1, sequences: 0, length: 4, reverse: false, saved: 0 };
    const loop = graphOfOp("Scan", [type, type, type], { body, ...counts });
    const expanded = expandAttentions(loop);
    const [node] = expanded.nodes;
    const inner = node?.op === "Scan" ? node.attributes.body.nodes.map(({ op }) => op) : [];
    expect(inner).not.toContain("Attention");
    expect(inner).toContain("Softmax");
    expect(expandAttentions(expanded)).toBe(expanded);
  });
});
