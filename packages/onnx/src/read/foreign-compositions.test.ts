import { tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { of, reading, refusal } from "../../test/small-models.js";
import { float, int, type OnnxNode } from "../model.js";

const x = [-2, -0.3, 0.2, 0.9, 1.5, 4];

function resultOf(...nodes: readonly OnnxNode[]): readonly number[] {
  const { graph } = reading({ nodes, outputs: [{ name: "y", metadata: {} }] });
  const { y } = evaluate(graph, { x: tensor(Float32Array.from(x), [2, 3]) });
  return Array.from(y?.data as Float32Array);
}

const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 5));
const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));

describe("functions of each element that are compositions", () => {
  it.each<readonly [string, Parameters<typeof of>[1], (value: number) => number]>([
    ["HardSigmoid", { alpha: float(0.5) }, (v) => Math.min(1, Math.max(0, 0.5 * v + 0.5))],
    ["HardSwish", {}, (v) => v * Math.min(1, Math.max(0, v / 6 + 0.5))],
    ["Swish", { alpha: float(2) }, (v) => v * sigmoid(2 * v)],
    ["Mish", {}, (v) => v * Math.tanh(Math.log1p(Math.exp(v)))],
    ["Celu", { alpha: float(2) }, (v) => Math.max(0, v) + Math.min(0, 2 * Math.expm1(v / 2))],
    ["Shrink", { lambd: float(1), bias: float(0.5) }, (v) => (v < -1 ? v + 0.5 : v > 1 ? v - 0.5 : 0)],
    ["ThresholdedRelu", {}, (v) => (v > 1 ? v : 0)],
    ["Softsign", {}, (v) => v / (1 + Math.abs(v))],
    ["Asinh", {}, Math.asinh],
    ["Tan", {}, Math.tan],
  ])("%s", (op, attributes, expected) => {
    expect(resultOf(of(op, attributes))).toEqual(close(x.map(expected)));
  });
});

describe("sequences of known length", () => {
  const two: OnnxNode = of("Constant", { value_int: int(2) }, [], ["two"]);
  const last: OnnxNode = of("Constant", { value_int: int(-1) }, [], ["last"]);
  const parts = of("SplitToSequence", { axis: int(1) }, ["x", "two"], ["parts"]);

  it("leave their elements", () => {
    expect(resultOf(two, last, parts, of("SequenceAt", {}, ["parts", "last"]))).toEqual(close([0.2, 4]));
  });

  it("are no tensors", () => {
    const message = refusal(() => resultOf(two, parts, of("Relu", {}, ["parts"])));
    expect(message).toContain("MP_UNSUPPORTED: onnx: Relu of opset 23");
    expect(message).toContain('value "parts" is a sequence');
  });
});

it("a triangle keeps one side of a diagonal", () => {
  expect(resultOf(of("Trilu"))).toEqual(close([-2, -0.3, 0.2, 0, 1.5, 4]));
  expect(resultOf(of("Trilu", { upper: int(0) }))).toEqual(close([-2, 0, 0, 0.9, 1.5, 0]));
});
