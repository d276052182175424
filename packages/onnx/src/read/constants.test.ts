// Constants of a model that become attributes of the graph, and others that stay constants.
import { type HostTensor, printGraph, tensor } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { f32, of, reading, refusal, text } from "../../test/small-models.js";
import { float, floats, int, ints, type OnnxAttributes, string } from "../model.js";

describe("reading constants", () => {
  it("reads Constants given as numbers", () => {
    const nodes = [
      of("Constant", { value_ints: ints([3, 2]) }, [], ["s"]),
      of("Reshape", {}, ["x", "s"], ["r"]),
      of("Constant", { value_float: float(0.5) }, [], ["h"]),
      of("Mul", {}, ["r", "h"]),
    ];
    expect(text(...nodes)).toContain("Reshape(%0) {shape=[3,2]}");
    expect(text(...nodes)).toContain("value=f32[](0.5)");
  });

  it("reads bounds that are cast like the data, as PyTorch writes them: only the dtype of the data is needed", () => {
    const bound = (value: number, name: string) => [
      of(
        "Constant",
        { value: { kind: "tensor", value: tensor(BigInt64Array.of(BigInt(value)), []) } },
        [],
        [name],
      ),
      of("CastLike", {}, [name, "x"], [`${name}_cast`]),
    ];
    const clip = of("Clip", {}, ["x", "low_cast", "high_cast"]);
    expect(text(...bound(0, "low"), ...bound(6, "high"), clip)).toContain("Clip(%0) {min=0 max=6}");
    // CastLike needs only the parameter's dtype; the parameter itself is not folded.
    const w = { name: "w", tensor: tensor(Float32Array.of(1, 2)) };
    const weighted = reading({
      inputs: [f32("x", 2)],
      initializers: [w],
      nodes: [
        of("Mul", {}, ["x", "w"], ["z"]),
        ...bound(6, "high"),
        of("CastLike", {}, ["high_cast", "w"], ["h"]),
        of("Clip", {}, ["z", "", "h"]),
      ],
    });
    expect(printGraph(weighted.graph)).toMatch(/Clip\(.*\) \{max=6\}/);
  });

  const held = (attributes: OnnxAttributes): HostTensor | undefined => {
    const nodes = [of("Constant", attributes, [], ["c"]), of("Identity", {}, ["c"], ["y"])];
    const { graph } = reading({ inputs: [], nodes, outputs: [{ name: "y", metadata: {} }] });
    return evaluate(graph, {})["y"];
  };

  it("reads Constants in all forms, integers to the last bit", () => {
    expect(held({ value_int: int(2n ** 53n + 1n) })).toEqual(tensor(BigInt64Array.of(2n ** 53n + 1n), []));
    const wide = [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
    expect(held({ value_ints: ints(wide) })).toEqual(tensor(BigInt64Array.from(wide)));
    expect(held({ value_ints: ints([]) })).toEqual(tensor(BigInt64Array.of()));
    const fractions = Float32Array.of(0.1, -0, 3e38, Number.POSITIVE_INFINITY);
    expect(held({ value_floats: floats([...fractions]) })).toEqual(tensor(fractions));
    expect(held({ value_float: float(Math.fround(0.1)) })).toEqual(tensor(Float32Array.of(0.1), []));
    expect(held({ value: { kind: "tensor", value: tensor(Int32Array.of(3)) } })).toEqual(
      tensor(Int32Array.of(3)),
    );
  });

  it.each<[string, OnnxAttributes, string]>([
    ["of a string", { value_string: string("a") }, "holds strings, leave the part of the model"],
    ["of strings", { value_strings: { kind: "strings", value: ["a"] } }, "holds strings"],
    ["of nothing", {}, "has none of value, value_float, value_floats, value_int, value_ints"],
    ["of two values", { value_int: int(1), value_ints: ints([1]) }, 'has the attribute "value_ints"'],
  ])("refuses a Constant %s", (_, attributes, message) => {
    expect(refusal(() => held(attributes))).toContain("MP_UNSUPPORTED: onnx: Constant of opset 23");
    expect(refusal(() => held(attributes))).toContain(message);
  });

  it("takes integers as attributes only where a number is that integer", () => {
    const given = (opType: string, names: string[], x: bigint, low: bigint, high: bigint): unknown => {
      const i64 = (name: string, value: bigint) => ({ name, tensor: tensor(BigInt64Array.of(value), []) });
      const pads = { name: "p", tensor: tensor(BigInt64Array.of(1n, 0n)) };
      const { graph } = reading({
        inputs: [{ name: "x", type: { elementType: "i64", shape: [1] }, metadata: {} }],
        initializers: [i64("low", low), i64("high", high), i64("one", 1n), pads],
        nodes: [of(opType, {}, names)],
        outputs: [{ name: "y", metadata: {} }],
      });
      return evaluate(graph, { x: tensor(BigInt64Array.of(x)) })["y"]?.data;
    };
    const clip = (low: bigint, high: bigint) =>
      given("Clip", ["x", "low", "high"], 2n ** 62n + 1n, low, high);
    expect(clip(-(2n ** 63n), 2n ** 63n - 1n)).toEqual(BigInt64Array.of(2n ** 62n + 1n));
    expect(clip(0n, 2n ** 53n)).toEqual(BigInt64Array.of(2n ** 53n));
    expect(refusal(() => clip(0n, 2n ** 53n + 1n))).toContain("has 9007199254740993 for the upper bound");
    expect(refusal(() => clip(2n ** 53n + 1n, 2n ** 60n))).toContain("for the lower bound");
    const padded = (value: bigint) => given("Pad", ["x", "p", "low"], 7n, value, 0n);
    expect(padded(-5n)).toEqual(BigInt64Array.of(-5n, 7n));
    expect(refusal(() => padded(2n ** 53n + 1n))).toContain("for the value of pads");
    expect(
      refusal(() => given("Range", ["low", "high", "one"], 0n, 2n ** 53n + 1n, 2n ** 53n + 3n)),
    ).toContain("has 9007199254740993 for start");
  });

  it("refuses pools whose size ONNX's text and its engines round differently", () => {
    const pooled = (stride: number, ceil_mode: number): string =>
      printGraph(
        reading({
          inputs: [f32("x", 1, 1, 7)],
          nodes: [
            of("MaxPool", {
              auto_pad: string("VALID"),
              kernel_shape: ints([3]),
              strides: ints([stride]),
              ceil_mode: int(ceil_mode),
            }),
          ],
        }).graph,
      );
    expect(pooled(2, 1)).toContain("f32[1, 1, 3]");
    expect(pooled(3, 0)).toContain("f32[1, 1, 2]");
    expect(refusal(() => pooled(3, 1))).toContain("MP_UNSUPPORTED: onnx: MaxPool of opset 23");
  });

  it("names the node also where a function of core's refuses", () => {
    const nodes = [of("DepthToSpace", { blocksize: int(2) })];
    expect(refusal(() => reading({ inputs: [f32("x", 1, 3, 2, 2)], nodes }))).toContain(
      'MP_UNSUPPORTED: onnx: DepthToSpace of opset 23 (node "n"): ',
    );
  });
});
