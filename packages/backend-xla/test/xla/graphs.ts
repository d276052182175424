import { type Graph, GraphBuilder, type HostTensor, tensor, type Value } from "@mp/graph";

export const f32 = (...numbers: readonly number[]): HostTensor<"f32"> =>
  tensor(Float32Array.from(numbers), [numbers.length]);

export const flag = (isTrue: boolean): HostTensor<"bool"> =>
  tensor(Uint8Array.of(Number(isTrue)), [], "bool");

/** A vector that adds `x` to itself when applied, a counter that always grows, and its old value as a result. */
export function counting(size: number): Graph {
  const builder = new GraphBuilder();
  const vector = builder.input("vector", { dtype: "f32", shape: [size] }, "state");
  const count = builder.input("count", { dtype: "f32", shape: [1] }, "state");
  const x = builder.input("x", { dtype: "f32", shape: [size] }, "batch");
  const applied = builder.input("applied", { dtype: "bool", shape: [] }, "batch");
  const one = builder.emitOne("Constant", [], { value: f32(1) });
  return builder.finish({
    next: builder.emitOne("Add", [vector, x], {}),
    grown: builder.emitOne("Add", [count, one], {}),
    before: builder.emitOne("Identity", [count], {}),
    applied: builder.emitOne("Identity", [applied], {}),
  });
}

export const COUNTING = {
  bindings: [
    { slot: "vector", input: "vector", output: "next", commit: "when-applied" },
    { slot: "count", input: "count", output: "grown", commit: "always" },
  ],
  applied: "applied",
} as const;

/** Adds a row of `table`, chosen by the data, to a vector that always commits. */
export function reading(rows: number): Graph {
  const builder = new GraphBuilder();
  const vector = builder.input("vector", { dtype: "f32", shape: [1] }, "state");
  const table = builder.input("table", { dtype: "f32", shape: [rows] }, "batch");
  const index = builder.input("index", { dtype: "i32", shape: [1] }, "batch");
  const row = builder.emitOne("Gather", [table, index], { axis: 0 });
  return builder.finish({ next: builder.emitOne("Add", [vector, row], {}) });
}

/** Products of a matrix with itself, which take a while. */
export function products(size: number, count: number): Graph {
  const builder = new GraphBuilder();
  const a = builder.input("a", { dtype: "f32", shape: [size, size] }, "batch");
  let product: Value = a;
  for (let turn = 0; turn < count; turn++) product = builder.emitOne("MatMul", [product, a], {});
  return builder.finish({ product });
}
