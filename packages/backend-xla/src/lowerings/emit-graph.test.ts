import { type DType, GraphBuilder, type Shape, tensor, type Value } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { Emitter, typeText } from "../stablehlo/index.js";
import { emitGraph } from "./emit-graph.js";

type Inputs = Readonly<Record<string, readonly [DType, Shape]>>;

/** The text of a graph of some operators, one operation a line. */
function textOf(inputs: Inputs, make: (builder: GraphBuilder, values: readonly Value[]) => Value): string[] {
  const builder = new GraphBuilder();
  const values = Object.entries(inputs).map(([name, [dtype, shape]]) =>
    builder.input(name, { dtype, shape }, "batch"),
  );
  const graph = builder.finish({ y: make(builder, values) });
  const emitter = new Emitter({ tf32: false, devices: 1 });
  const operands = graph.inputs.map(({ name, value }) => ({ name: `%${name}`, type: value }));
  const [y] = emitGraph(emitter, graph, operands);
  return [...emitter.text().split("\n"), `${y?.name} : ${y && typeText(y.type)}`];
}

describe("the text", () => {
  it("has an operation for an operator, and nothing for what changes nothing", () => {
    const text = textOf({ x: ["f32", [2, 1]] }, (builder, [x]) => {
      const same = builder.emitOne("Expand", [x as Value], { shape: [2, 1] });
      return builder.emitOne("Neg", [same], {});
    });
    expect(text).toEqual(["%0 = stablehlo.negate %x : tensor<2x1xf32>", "%0 : tensor<2x1xf32>"]);
  });

  it("holds constants as bytes, and bools as words", () => {
    const constant = (value: Parameters<GraphBuilder["constant"]>[0]) =>
      textOf({}, (builder) => builder.constant(value))[0];
    expect(constant(tensor(Float32Array.of(0.1, -0)))).toBe(
      '%0 = stablehlo.constant dense<"0xCDCCCC3D00000080"> : tensor<2xf32>',
    );
    expect(constant(tensor(BigUint64Array.of(2n ** 64n - 1n), [1], "u64"))).toBe(
      '%0 = stablehlo.constant dense<"0xFFFFFFFFFFFFFFFF"> : tensor<1xui64>',
    );
    expect(constant(tensor(Uint8Array.of(1, 0, 0, 1), [2, 2], "bool"))).toBe(
      "%0 = stablehlo.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>",
    );
    expect(constant(tensor(Float32Array.of(1, 1, 1), [3, 1]))).toBe(
      '%0 = stablehlo.constant dense<"0x0000803F"> : tensor<3x1xf32>',
    );
    expect(constant(tensor(new Float32Array(0), [0, 3]))).toBe(
      "%0 = stablehlo.constant dense<> : tensor<0x3xf32>",
    );
  });

  it("sums halves in f32, and rounds once", () => {
    expect(
      textOf({ x: ["bf16", [4]] }, (builder, [x]) =>
        builder.emitOne("ReduceSum", [x as Value], { axes: [0], keepdims: true }),
      ),
    ).toEqual([
      "%0 = stablehlo.convert %x : (tensor<4xbf16>) -> tensor<4xf32>",
      '%1 = stablehlo.constant dense<"0x00000000"> : tensor<f32>',
      '%5 = "stablehlo.reduce"(%0, %1) <{dimensions = array<i64: 0>}> ({',
      "^bb0(%2: tensor<f32>, %3: tensor<f32>):",
      "%4 = stablehlo.add %2, %3 : tensor<f32>",
      "stablehlo.return %4 : tensor<f32>",
      "}) : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>)",
      "%6 = stablehlo.reshape %5 : (tensor<f32>) -> tensor<1xf32>",
      "%7 = stablehlo.convert %6 : (tensor<1xf32>) -> tensor<1xbf16>",
      "%7 : tensor<1xbf16>",
    ]);
  });

  it("multiplies a matrix by batches without repeating it", () => {
    expect(
      textOf({ a: ["f32", [4, 5]], b: ["f32", [2, 5, 3]] }, (builder, values) =>
        builder.emitOne("MatMul", values, {}),
      ),
    ).toEqual([
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x5xf32>, tensor<2x5x3xf32>) -> tensor<4x2x3xf32>",
      "%1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>",
      "%1 : tensor<2x4x3xf32>",
    ]);
  });
});

describe("a scan", () => {
  it("is a loop that carries what it reads", () => {
    const body = new GraphBuilder();
    const [sum, element] = ["sum", "element"].map((name) =>
      body.input(name, { dtype: "f32", shape: [] }, "batch"),
    );
    const next = body.emitOne("Add", [sum as Value, element as Value], {});
    const text = textOf({ start: ["f32", []], xs: ["f32", [3]] }, (builder, values) => {
      const attributes = { carries: 1, sequences: 1, length: 3, reverse: false, saved: 0 };
      const graph = body.finish({ next });
      return builder.emitOne("Scan", values, { ...attributes, body: graph });
    }).join("\n");
    expect(text).toMatch(/"stablehlo.while"\(.*%start.*%xs\)/);
    expect(text).toContain("stablehlo.dynamic_slice");
    expect(text.match(/stablehlo\.return/g)).toHaveLength(2);
  });
});
