import { encode, type Graph, GraphBuilder, scope, tensor, traceInto, type ValueType } from "@mp/graph";
import { add, relu, topK } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { decodeModel } from "../decode.js";
import { encodeModel } from "../encode.js";
import type { OnnxNode } from "../model.js";
import { readGraph } from "../read/read.js";
import type { LowerNode } from "./lowering.js";
import { sourceOfNode, writeGraph } from "./write.js";

const f32 = (...shape: number[]): ValueType => ({ dtype: "f32", shape });

/** Sums x and y in a scope, then takes the two largest. */
function sample(): Graph {
  const { graph } = traceInto(
    [
      { name: "x", role: "batch", type: f32(2, 3) },
      { name: "w", role: "parameter", type: f32(3) },
    ],
    ([x, w]) => {
      if (x === undefined || w === undefined) throw new Error("two inputs");
      return topK(
        scope("layer", () => relu(add(x, w))),
        2,
      );
    },
  );
  return graph;
}

const brief = ({ name, opType, inputs, outputs }: OnnxNode): string =>
  `${name}: ${outputs.join(", ")} = ${opType}(${inputs.join(", ")})`;

describe("writeGraph", () => {
  it("keeps names and order, and says where a node comes from", () => {
    const { graph, opsets } = writeGraph(sample(), { name: "sample" });
    expect(opsets).toEqual({ "": 23 });
    expect(graph.name).toBe("sample");
    expect(graph.inputs.map(({ name, metadata }) => `${name} ${metadata["mp.role"]}`)).toEqual([
      "x batch",
      "w parameter",
    ]);
    expect(graph.nodes.map(brief)).toEqual([
      "layer/Add: layer/Add = Add(x, w)",
      "layer/Relu: layer/Relu = Relu(layer/Add)",
      "TopK: values, TopK:1 = TopK(layer/Relu, constant:0)",
      "TopK.Cast: indices = Cast(TopK:1)",
    ]);
    expect(graph.nodes.map(sourceOfNode)).toEqual(["layer/Add", "layer/Relu", "TopK", "TopK"]);
    const [first] = graph.nodes;
    expect(first?.metadata).toEqual({
      "mp.phase": "forward",
      "mp.scope": "layer",
      "mp.line": expect.stringMatching(/:\d+:\d+$/),
    });
    expect(graph.valueInfos.map(({ name, type }) => `${name} ${type?.elementType}`)).toEqual([
      "layer/Add f32",
      "layer/Relu f32",
    ]);
  });

  it("leaves out what is not wanted", () => {
    const { graph } = writeGraph(sample(), { origins: false, types: false });
    expect(graph.nodes[0]?.metadata).toEqual({});
    expect(graph.nodes.map(sourceOfNode)).toEqual(["layer/Add", "layer/Relu", "TopK", "TopK"]);
    expect(graph.valueInfos).toEqual([]);
  });

  it("finds names for outputs that ONNX cannot name so, and gives the graph's back", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", f32(2), "state");
    const y = builder.emitOne("Abs", [x], {});
    const graph = builder.finish({ x: y, again: y, same: x, Abs: builder.emitOne("Neg", [y], {}) });
    const model = writeGraph(graph);
    expect(model.graph.outputs.map(({ name }) => name)).toEqual(["x~1", "again", "same", "Abs"]);
    expect(model.graph.nodes.map(brief)).toEqual([
      "Abs: x~1 = Abs(x)",
      "Neg: Abs = Neg(x~1)",
      "output again: again = Identity(x~1)",
      "output same: same = Identity(x)",
    ]);
    const back = readGraph(decodeModel(encodeModel(model))).graph;
    expect(back.outputs.map(({ name }) => name)).toEqual(["x", "again", "same", "Abs"]);
    expect(back.nodes.map(({ op }) => op)).toEqual(["Abs", "Neg"]);
    const input = { x: tensor(Float32Array.of(-1, 2)) };
    expect(evaluate(back, input)).toEqual(evaluate(graph, input));
  });

  it("shares initializers of equal content, and tells 0 from -0", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", f32(2, 2), "batch");
    const outputs = [0, -0, 0].map((min) => builder.emitOne("Clip", [x], { min }));
    const { graph } = writeGraph(
      builder.finish(Object.fromEntries(outputs.map((y, index) => [`y${index}`, y]))),
    );
    expect(graph.initializers.map(({ tensor: { data } }) => data[0])).toEqual([0, -0]);
  });

  it("writes scalars beyond a half's range as infinities and refuses integers that a dtype lacks", () => {
    const builder = new GraphBuilder();
    const h = builder.input("h", { dtype: "f16", shape: [2] }, "batch");
    const b = builder.input("b", { dtype: "u8", shape: [2] }, "batch");
    const clipped = builder.finish({ y: builder.emitOne("Clip", [h], { max: 1e6 }) });
    expect(writeGraph(clipped).graph.initializers[0]?.tensor.data[0]).toBe(
      encode("f16", Number.POSITIVE_INFINITY),
    );
    const padded = builder.finish({
      y: builder.emitOne("Pad", [b], { pads: [0, 1], mode: "constant", value: 256 }),
    });
    expect(() => writeGraph(padded)).toThrow(expect.objectContaining({ code: "MP_OUT_OF_RANGE" }));
  });

  it("refuses a graph that is not valid", () => {
    const graph = sample();
    const broken = { ...graph, nodes: [...graph.nodes].reverse() };
    expect(() => writeGraph(broken)).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
  });
});

describe("a backend's own lowering", () => {
  /** Computes f16 ops in f32 and rounds afterwards, as an engine without f16 kernels needs. */
  const emulateHalves: LowerNode = (node, operands, writer, standard) => {
    const isHalf = (value: ValueType): boolean => value.dtype === "f16";
    if (node.op === "Cast" || ![...node.inputs, ...node.outputs].some(isHalf))
      return standard(node, operands);
    const wide = <V extends ValueType>(value: V): V => (isHalf(value) ? { ...value, dtype: "f32" } : value);
    const widened = { ...node, inputs: node.inputs.map(wide), outputs: node.outputs.map(wide) };
    const results = standard(
      widened,
      node.inputs.map((value, index) => {
        const name = operands[index] ?? "";
        return isHalf(value) ? writer.cast(name, "f32") : name;
      }),
    );
    return node.outputs.map((value, index) => {
      const name = results[index] ?? "";
      return isHalf(value) ? writer.cast(name, "f16") : name;
    });
  };

  it("wraps the standard one: halves computed in f32 with the same bits", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", { dtype: "f16", shape: [3] }, "batch");
    const sum = builder.emitOne("Add", [x, x], {});
    const clipped = builder.emitOne("Clip", [sum], { max: 0.1 });
    const graph = builder.finish({ y: builder.emitOne("Mul", [clipped, x], {}) });
    const model = writeGraph(graph, { lower: emulateHalves, types: false });
    expect(model.graph.nodes.map(({ opType }) => opType)).toEqual([
      "Cast",
      "Cast",
      "Add",
      "Cast",
      "Cast",
      "Clip",
      "Cast",
      "Cast",
      "Cast",
      "Mul",
      "Cast",
    ]);
    // The bound has the dtype of the f32 counterpart, not of the node.
    expect(model.graph.initializers.map(({ tensor: { dtype } }) => dtype)).toEqual(["f32"]);
    expect(model.graph.nodes.filter(({ opType }) => opType !== "Cast").map(({ name }) => name)).toEqual([
      "Add",
      "Clip",
      "Mul",
    ]);
    const back = readGraph(model).graph;
    const inputs = { x: tensor(Uint16Array.of(0x3c01, 0xbc01, 0x1001), [3], "f16") };
    expect(back.nodes.filter(({ op }) => op === "Add")[0]?.inputs[0]?.dtype).toBe("f32");
    expect(evaluate(back, inputs)).toEqual(evaluate(graph, inputs));
  });

  it("replaces it where it does not call it", () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", f32(3), "batch");
    const graph = builder.finish({ y: builder.emitOne("Softplus", [x], {}) });
    const { graph: written } = writeGraph(graph, {
      lower: (node, operands, writer, standard) =>
        node.op === "Softplus"
          ? writer.emit("Softplus", operands, {}, { domain: "com.example" })
          : standard(node, operands),
    });
    expect(written.nodes.map(({ domain, name }) => `${domain} ${name}`)).toEqual(["com.example Softplus"]);
  });
});
