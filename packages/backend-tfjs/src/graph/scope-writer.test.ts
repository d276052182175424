import { tensor, zeros } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { type } from "./attributes.js";
import { ConstantTable } from "./constant-table.js";
import { ScopeWriter } from "./scope-writer.js";

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
    expect(writer.ints([1, 2]).name).toBe(writer.constant(tensor(Int32Array.of(1, 2))).name);
    expect(writer.ints([1, 2]).name).not.toBe(writer.constant(tensor(Int32Array.of(1, 2), [2, 1])).name);
    expect(writer.scalar(0, "f16").name).not.toBe(writer.scalar(0, "bf16").name);
  });

  it("in floats hide from the optimizer that they are, since it would move them", () => {
    const writer = new ScopeWriter("p");
    writer.scalar(3, "f32");
    writer.scalar(3, "i32");
    expect(writer.nodes.map(({ op }) => op)).toEqual(["Const", "PlaceholderWithDefault", "Const"]);
  });

  it("that are large are variables, by content", () => {
    const constants = new ConstantTable();
    const writer = new ScopeWriter("p", constants);
    const large = zeros([1025]);
    expect(writer.constant(large).name).toBe(writer.constant(zeros([1025])).name);
    writer.constant(zeros([1024]));
    expect(writer.nodes.map(({ op }) => op)).toEqual(["ReadVariableOp", "Const", "PlaceholderWithDefault"]);
    expect([...constants.tensors.values()]).toEqual([large]);
  });
});

describe("loops", () => {
  const counting = (writer: ScopeWriter, step: (at: string) => string): readonly string[] =>
    writer.loop({
      variables: [{ dtype: "i32", start: "start" }],
      invariants: [],
      goesOn: ([at = ""]) => writer.one("Less", [at, writer.scalar(3, "i32")], { T: type("i32") }),
      step: ([at = ""]) => [step(at)],
    });

  it("take what enters them and what each step hands on", () => {
    const writer = new ScopeWriter("p");
    writer.enter("n");
    const [left] = counting(writer, (at) => writer.one("Step", [at]));
    const inputs = new Map(writer.nodes.map(({ name, input }) => [name, input]));
    expect(inputs.get("p/n/Merge")).toEqual(["p/n/Enter", "p/n/NextIteration"]);
    expect(inputs.get("p/n/NextIteration")).toEqual(["p/n/Step"]);
    expect(inputs.get("p/n/Step")).toEqual(["p/n/Switch:1"]);
    expect(left).toBe("p/n/Exit");
    expect(inputs.get("p/n/Exit")).toEqual(["p/n/Switch"]);
  });

  it("read constants through an Enter of their own, loop by loop", () => {
    const writer = new ScopeWriter("p");
    writer.enter("n");
    const seven = tensor(Int32Array.of(7), []);
    const read: string[] = [];
    counting(writer, (at) => {
      read.push(writer.constant(seven).name, writer.constant(seven).name);
      counting(writer, (inner) => {
        read.push(writer.constant(seven).name);
        return inner;
      });
      return at;
    });
    const outside = writer.constant(seven).name;
    const nodeOf = (name: string | undefined) => writer.nodes.find((node) => node.name === name);
    const [first, again, inner] = read;
    expect(first).toBe(again);
    expect(nodeOf(outside)?.op).toBe("Const");
    expect(nodeOf(first)?.input).toEqual([outside]);
    expect(nodeOf(inner)?.input).toEqual([first]);
  });

  it("make a value outside that is first read inside", () => {
    const writer = new ScopeWriter("p");
    writer.enter("n");
    const later = writer.defer(() => writer.one("Later", []));
    writer.loop({
      variables: [{ dtype: "i32", start: "start" }],
      invariants: [{ dtype: "f32", start: later }],
      goesOn: ([at = ""]) => at,
      step: ([at = ""], [same = ""]) => [writer.one("Step", [at, same])],
    });
    const made = writer.nodes.find(({ op }) => op === "Later");
    expect(made === undefined ? "none" : writer.givesIn(made)).toBeUndefined();
    const inside = writer.nodes.find(({ op }) => op === "Step");
    expect(inside === undefined ? undefined : writer.givesIn(inside)?.name).toBe("p/n/loop");
  });
});
