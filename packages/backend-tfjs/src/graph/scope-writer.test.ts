import { tensor, zeros } from "@mp/core";
import { describe, expect, it } from "vitest";
import { ConstantTable } from "./constant-table.js";
import { ScopeWriter } from "./scope-writer.js";
import { type } from "./tf-writer.js";

describe("names", () => {
  it("tell the node they are of, in what TensorFlow allows, each once", () => {
    const writer = new ScopeWriter("program0");
    writer.enter("encoder/layer 0/Tanh_1, the second");
    const names = [1, 2, 3].map(() => writer.one("Tanh", ["x"], { T: type("f32") }));
    expect(names).toEqual([
      "program0/encoder/layer_0/Tanh_1__the_second/Tanh",
      "program0/encoder/layer_0/Tanh_1__the_second/Tanh_1",
      "program0/encoder/layer_0/Tanh_1__the_second/Tanh_2",
    ]);
    expect(names.map((name) => writer.sources.get(name))).toEqual(
      Array(3).fill("encoder/layer 0/Tanh_1, the second"),
    );
  });

  it("do not meet where a node is called as another's second is", () => {
    const writer = new ScopeWriter("p");
    writer.enter("a");
    const first = [writer.one("X", []), writer.one("X", [])];
    writer.enter("a/X_1");
    const other = writer.one("Y", []);
    writer.enter("a");
    expect(new Set([...first, other, writer.one("X_1", [])]).size).toBe(4);
  });

  it("of further results carry their place, and edges that carry nothing go to the node", () => {
    const writer = new ScopeWriter("p");
    const [first, second] = writer.emit("Switch", ["a", "b"], {}, { outputs: 2 });
    expect([first, second]).toEqual(["p/Switch", "p/Switch:1"]);
    writer.emit("NoOp", [], {}, { after: [second as string, first as string, "c:0"] });
    expect(writer.nodes.at(-1)?.input).toEqual(["^p/Switch", "^c"]);
  });
});

describe("constants", () => {
  it("of equal content are one node, those of another dtype another", () => {
    const writer = new ScopeWriter("p");
    expect(writer.ints([1, 2])).toBe(writer.constant(tensor(Int32Array.of(1, 2))));
    expect(writer.ints([1, 2])).not.toBe(writer.constant(tensor(Int32Array.of(1, 2), [2, 1])));
    expect(writer.scalar(0, "f16")).not.toBe(writer.scalar(0, "bf16"));
  });

  it("in floats hide from the optimiser that they are, since it would move them", () => {
    const writer = new ScopeWriter("p");
    writer.scalar(3, "f32");
    writer.scalar(3, "i32");
    expect(writer.nodes.map(({ op }) => op)).toEqual(["Const", "PlaceholderWithDefault", "Const"]);
  });

  it("that are large are variables, by content", () => {
    const constants = new ConstantTable();
    const writer = new ScopeWriter("p", constants);
    const large = zeros([1025]);
    expect(writer.constant(large)).toBe(writer.constant(zeros([1025])));
    writer.constant(zeros([1024]));
    expect(writer.nodes.map(({ op }) => op)).toEqual(["ReadVariableOp", "Const", "PlaceholderWithDefault"]);
    expect([...constants.tensors.values()]).toEqual([large]);
  });
});
