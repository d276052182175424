import { GraphBuilder, producers, tensor, type Value } from "@mp/graph";
import { expect, it } from "vitest";
import { boundMagnitudes } from "./magnitudes.js";

const builder = new GraphBuilder();
const x = builder.input("x", { dtype: "f32", shape: [2] }, "batch");
const constant = (...data: number[]): Value => builder.constant(tensor(Float32Array.from(data)));
const emit = (op: "Add" | "Mul" | "Sub", ...operands: [Value, Value]): Value =>
  builder.emitOne(op, operands, {});
const root = builder.emitOne("Sqrt", [x], {});
const epsilon = emit("Mul", builder.emitOne("Sqrt", [x], {}), constant(2 ** -27));

it.each<readonly [string, Value, readonly [number, number] | undefined]>([
  ["an input", x, undefined],
  ["a constant, without its 0, infinity and NaN", constant(-3, 0, 0.5, Infinity, Number.NaN), [0.5, 3]],
  ["a root", root, [2 ** -75, 2 ** 64]],
  ["the divisor of Adam", emit("Add", root, epsilon), [2 ** -102, 2 ** 64 + 2 ** 37]],
  ["a product with what is not known", emit("Mul", root, x), undefined],
  ["a sum that may be a difference", emit("Add", root, constant(-1)), undefined],
  ["a difference", emit("Sub", root, constant(1)), undefined],
])("magnitudes of %s", (_name, value, wanted) => {
  const graph = builder.finish({ value });
  const found = boundMagnitudes(value, (each) => producers(graph).get(each));
  expect(found && [found.least, found.most]).toEqual(wanted);
});

it("nothing is said of a value after many operators, however they share operands", () => {
  const sums = Array.from({ length: 60 }).reduce<Value>((sum) => emit("Add", sum, sum), root);
  const graph = builder.finish({ sums });
  expect(boundMagnitudes(sums, (each) => producers(graph).get(each))).toBeUndefined();
});
