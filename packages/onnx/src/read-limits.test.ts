import { tensor } from "@mp/graph";
import { expect, it } from "vitest";
import { f32, of, reading, refusal } from "../test/small-models.js";
import { encodeModel } from "./encode.js";
import { type OnnxGraph, type OnnxNode, onnxGraph, onnxModel, onnxNode } from "./model.js";
import { fromOnnx } from "./trainable/from-onnx.js";

const count = (name: string, value: number) => ({
  name,
  tensor: tensor(BigInt64Array.of(BigInt(value)), []),
});
const yes = { name: "yes", tensor: tensor(Uint8Array.of(1), [], "bool") };

/** A loop of `trips` steps around nodes that compute `to` from `from`. */
const loop = (trips: string, nodes: readonly OnnxNode[], [from, to]: readonly [string, string]): OnnxNode => {
  const body = onnxGraph("body", {
    inputs: [
      { name: `i_${to}`, type: { elementType: "i64", shape: [] }, metadata: {} },
      { name: `on_${to}`, type: { elementType: "bool", shape: [] }, metadata: {} },
      f32(`a_${to}`, 2, 3),
    ],
    nodes: [onnxNode("Identity", [`on_${to}`], [`still_${to}`]), ...nodes],
    outputs: [{ name: `still_${to}`, metadata: {} }, f32(`b_${to}`, 2, 3)],
  });
  return onnxNode("Loop", [trips, "yes", from], [to], {
    attributes: { body: { kind: "graph", value: body } },
  });
};
const once = (to: string) => onnxNode("Neg", [`a_${to}`], [`b_${to}`]);

const looped = (trips: number): Partial<OnnxGraph> => ({
  initializers: [count("n", trips), yes],
  nodes: [loop("n", [once("y")], ["x", "y"])],
  outputs: [f32("y", 2, 3)],
});

it("refuses a loop of too many steps by the limit's name", async () => {
  expect(refusal(() => reading(looped(4_000_000)))).toBe(
    'MP_OUT_OF_RANGE: onnx: "Scan" makes 4000000 steps, above limits.loopSteps of 100000; if the file is trusted, pass limits: { loopSteps: 4000000 }',
  );
  expect(refusal(() => reading(looped(100_000)))).toBe("accepted");
  expect(refusal(() => reading(looped(4_000_000), {}, { limits: { loopSteps: 4_000_000 } }))).toBe(
    "accepted",
  );
  const bytes = encodeModel(onnxModel(onnxGraph("g", { inputs: [f32("x", 2, 3)], ...looped(4_000_000) })));
  expect(bytes.length).toBeLessThan(600);
  const model = await fromOnnx(bytes);
  const trusted = await fromOnnx(bytes, { limits: { loopSteps: 1e7 } });
  const { traceInto } = await import("@mp/graph");
  const trace = (of: typeof model) => () =>
    traceInto(
      [{ name: "x", role: "batch", type: { dtype: "f32", shape: [2, 3] } }],
      ([x]) => of.apply({}, x as never)[0],
    );
  expect(refusal(trace(model))).toContain("limits.loopSteps");
  expect(refusal(trace(trusted))).toBe("accepted");
});

it("counts the steps of loops in loops", () => {
  const nested = (outer: number, inner: number): Partial<OnnxGraph> => ({
    initializers: [count("n", outer), count("m", inner), yes],
    nodes: [loop("n", [loop("m", [once("b_y")], ["a_y", "b_y"])], ["x", "y"])],
    outputs: [f32("y", 2, 3)],
  });
  expect(refusal(() => reading(nested(1000, 99)))).toBe("accepted");
  expect(refusal(() => reading(nested(1000, 101)))).toContain("101000 steps, above limits.loopSteps");
});

it("refuses a value of too many elements", () => {
  const expanded = (...sizes: number[]) => ({
    initializers: [{ name: "s", tensor: tensor(BigInt64Array.from(sizes, BigInt)) }],
    nodes: [of("Expand", {}, ["x", "s"])],
    outputs: [{ name: "y", metadata: {} }],
  });
  expect(refusal(() => reading(expanded(2 ** 28, 2, 3)))).toContain(
    '"Expand" has a value of 1610612736 elements, above limits.elements of 1073741824',
  );
  expect(refusal(() => reading(expanded(4, 2, 3), {}, { limits: { elements: 23 } }))).toContain(
    "limits.elements",
  );
  expect(refusal(() => reading(expanded(4, 2, 3), {}, { limits: { elements: 24 } }))).toBe("accepted");
});

it("refuses limits that are none, before anything is read", async () => {
  const bytes = encodeModel(onnxModel(onnxGraph("g", { inputs: [f32("x", 2, 3)], ...looped(2) })));
  const given: readonly (readonly [unknown, RegExp])[] = [
    [{ loopStep: 1 }, /did you mean loopSteps/],
    [{ loopSteps: Number.NaN }, /limits: loopSteps must be a number above 0, got NaN/],
    [{ elements: -1 }, /limits: elements must be a number above 0, got -1/],
  ];
  for (const [limits, message] of given) {
    await expect(fromOnnx(bytes, { limits: limits as never })).rejects.toThrow(message);
    expect(refusal(() => reading(looped(2), {}, { limits: limits as never }))).toMatch(message);
  }
  for (const limits of [{ loopSteps: undefined } as never, { loopSteps: Number.POSITIVE_INFINITY }])
    expect(refusal(() => reading(looped(2), {}, { limits }))).toBe("accepted");
});
