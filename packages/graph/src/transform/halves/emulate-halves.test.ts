import { expect, it } from "vitest";
import type { HalfDType } from "../../dtype.js";
import { encodeArray } from "../../float-format/bits.js";
import { validateGraph } from "../../graph/build/validate.js";
import { isNode } from "../../graph/graph.js";
import { tensor } from "../../host/host-tensor.js";
import { evaluate } from "../../reference/index.js";
import { add, mul } from "../../trace/ops/binary.js";
import { oneHot } from "../../trace/ops/indexing.js";
import { scan } from "../../trace/ops/loop.js";
import { gemm, matMul } from "../../trace/ops/matrix.js";
import { concat, pad, reshape, slice } from "../../trace/ops/movement.js";
import { layerNormalization, softmax } from "../../trace/ops/normalization.js";
import { argMax, reduceSum } from "../../trace/ops/reduce.js";
import { constant } from "../../trace/ops/source.js";
import { cast, clip, exp, relu, tanh } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { traceInto } from "../../trace/trace.js";
import { emulateHalves } from "./emulate-halves.js";
import { widenNodes } from "./widen-nodes.js";

const values = (size: number, step: number): Float32Array =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(step * (i + 1)) * 10 ** ((i % 7) - 3));

it.each(["f16", "bf16"] as HalfDType[])("computes in f32 the very bits of %s", (half) => {
  const { graph } = traceInto(
    [
      { name: "x", role: "batch", type: { dtype: half, shape: [4, 6] } },
      { name: "w", role: "parameter", type: { dtype: "f32", shape: [6, 6] } },
    ],
    ([x, w]) => {
      const low = cast(w as Tensor, half);
      const h = tanh(add(matMul(x as Tensor, low), 0.1));
      const n = layerNormalization(mul(h, 3), reshape(slice(low, [{ axis: 0, end: 1 }]), [6]));
      const picked = oneHot(argMax(h), 6, { dtype: half });
      const joined = concat([
        gemm(n, low, h, { transB: true, alpha: 0.3 }),
        picked,
        constant(tensor(encodeArray(half, values(6, 3)), [1, 6], half)),
      ]);
      return {
        y: softmax(
          relu(
            pad(
              joined,
              [
                [1, 0],
                [0, 0],
              ],
              { value: 0.7 },
            ),
          ),
        ),
        s: reduceSum(exp(clip(h, { max: 0.3 })), { axes: [1] }),
      };
    },
  );
  const inputs = {
    x: tensor(encodeArray(half, values(24, 1.7)), [4, 6], half),
    w: tensor(values(36, 0.9), [6, 6]),
  };
  const emulated = emulateHalves(graph, [half]);
  expect(evaluate(emulated, inputs)).toEqual(evaluate(graph, inputs));
  const computed = emulated.nodes.filter(
    (node) => node.op !== "Cast" && node.outputs.some(({ dtype }) => dtype === half),
  );
  expect(computed).toEqual([]);
});

it("says which node each node is a part of, and leaves a graph without halves alone", () => {
  const { graph } = traceInto([{ name: "x", role: "batch", type: { dtype: "f16", shape: [4] } }], ([x]) =>
    mul(tanh(x as Tensor), 3),
  );
  const parts: string[] = [];
  const emulated = emulateHalves(graph, ["f16"], (made, { name }) => parts.push(`${made} of ${name}`));
  // Widened where it is first read.
  expect(parts).toEqual([
    "Cast of Tanh",
    "Tanh of Tanh",
    "Cast_1 of Tanh",
    "Cast_2 of Tanh",
    "Constant of Constant",
    "Mul of Mul",
    "Cast_3 of Mul",
    "Cast_4 of Mul",
  ]);
  // The output is the f16 value, and nothing reads its widened value.
  expect(emulated.nodes).toHaveLength(7);
  expect(emulateHalves(graph, ["bf16"])).toBe(graph);
});

/** A recurrence in a half dtype, with a carry, a sequence, an outer weight, and a result read inside and outside. */
function recurrence(half: HalfDType) {
  const { graph } = traceInto(
    [
      { name: "h", role: "batch", type: { dtype: half, shape: [2, 4] } },
      { name: "x", role: "batch", type: { dtype: half, shape: [5, 2, 4] } },
      { name: "w", role: "parameter", type: { dtype: half, shape: [4, 4] } },
    ],
    ([h, x, w]) => {
      const [last, all] = scan(
        (state: Tensor, element: Tensor) => {
          const next = tanh(add(matMul(state, w as Tensor), element));
          return [next, [next, mul(element, 0.3)]];
        },
        h as Tensor,
        x as Tensor,
      );
      return { last, all: all[0] as Tensor, twice: mul(all[1] as Tensor, 2) };
    },
  );
  const inputs = {
    h: tensor(encodeArray(half, values(8, 0.7)), [2, 4], half),
    x: tensor(encodeArray(half, values(40, 1.7)), [5, 2, 4], half),
    w: tensor(encodeArray(half, values(16, 0.9)), [4, 4], half),
  };
  return { graph, inputs };
}

it.each(["f16", "bf16"] as HalfDType[])(
  "computes loops of %s in f32, whose sequences stay halves",
  (half) => {
    const { graph, inputs } = recurrence(half);
    const emulated = emulateHalves(graph, [half]);
    validateGraph(emulated);
    expect(evaluate(emulated, inputs)).toEqual(evaluate(graph, inputs));
    const [loop] = emulated.nodes.filter((node) => isNode(node, "Scan"));
    expect(loop?.inputs.map(({ dtype }) => dtype)).toEqual(["f32", half, "f32"]);
    expect(loop?.outputs.map(({ dtype }) => dtype)).toEqual(["f32", half, half]);
    // Two inputs and the result that is read in f32 are widened; the product and the carry are rounded.
    const casts = emulated.nodes.filter(({ op }) => op === "Cast");
    expect(casts.map(({ outputs }) => outputs[0]?.dtype)).toEqual(["f32", "f32", "f32", half, half]);
  },
);

it.each(["f16", "bf16"] as HalfDType[])(
  "computes a loop of %s whose carry is an element of its sequence",
  (half) => {
    const { graph } = traceInto(
      [
        { name: "h", role: "state", type: { dtype: half, shape: [2, 4] } },
        { name: "x", role: "batch", type: { dtype: half, shape: [5, 2, 4] } },
      ],
      ([h, x]) => {
        const [last, all] = scan(
          (state: Tensor, element: Tensor) => [element, [state]],
          h as Tensor,
          x as Tensor,
        );
        return { last, all: all[0] as Tensor };
      },
    );
    const inputs = {
      h: tensor(encodeArray(half, values(8, 0.7)), [2, 4], half),
      x: tensor(encodeArray(half, values(40, 1.7)), [5, 2, 4], half),
    };
    const emulated = emulateHalves(graph, [half]);
    validateGraph(emulated);
    expect(evaluate(emulated, inputs)).toEqual(evaluate(graph, inputs));
  },
);

it("widens nodes in loops", () => {
  const { graph, inputs } = recurrence("f16");
  const widened = widenNodes(graph, ({ op }) => op === "MatMul" || op === "Scan");
  validateGraph(widened);
  expect(evaluate(widened, inputs)).toEqual(evaluate(graph, inputs));
  const [loop] = widened.nodes.filter((node) => isNode(node, "Scan"));
  const product = loop?.attributes.body.nodes.find(({ op }) => op === "MatMul");
  expect(product?.outputs.map(({ dtype }) => dtype)).toEqual(["f32"]);
  expect(widenNodes(graph, ({ op }) => op === "Exp")).toBe(graph);
});
