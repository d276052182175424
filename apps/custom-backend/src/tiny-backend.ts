import type { Backend, HostTensor } from "@mp/core";
import { exactNumerics, type Kernel, type KernelTable, kernelBackend } from "@mp/core/backend";
import { hostArrayOf } from "@mp/core/graph";
import { product, spread, sum, transpose, type Values } from "./arrays.js";

/** How the backend stores a tensor: as the typed array of its dtype. */
type Data = HostTensor["data"];
type Operands = readonly [Values, Values, Values?];

/**
 * A kernel with one result, from the function that gives its elements; storing them rounds to the result's dtype. The
 * graph is checked before it runs, so the operands have the right number and shapes.
 */
const kernel =
  <A>(
    compute: (operands: Operands, attributes: A, shape: readonly number[]) => readonly number[],
  ): Kernel<A, Data> =>
  (operands, attributes, types) =>
    types.map(({ dtype, shape }) => {
      const elements = compute(operands as unknown as Operands, attributes, shape);
      const data = new hostArrayOf[dtype](elements.length);
      data.set(elements as never);
      return data;
    });

/** An elementwise operator. */
const each = (f: (x: number, y: number, z: number) => number): Kernel<unknown, Data> =>
  kernel((operands, _, shape) => {
    const [x = [], y = [], z = []] = operands.map((operand) => operand && spread(operand, shape));
    return x.map((value, index) => f(value, y[index] as number, z[index] as number));
  });

const kernels: KernelTable<Data> = {
  Abs: each((x) => Math.abs(x)),
  Add: each((x, y) => x + y),
  And: each((x, y) => x & y),
  Cast: kernel(([x], { to }) =>
    Array.from(x.data, (value) =>
      to === "i64" ? (BigInt(value) as never) : to === "bool" ? Number(value !== 0) : value,
    ),
  ),
  Equal: each((x, y) => Number(x === y)),
  Gemm: kernel(([a, b, c], { transA, transB, alpha, beta }, shape) => {
    const sums = product(transA ? transpose(a) : a, transB ? transpose(b) : b);
    const bias = c === undefined ? [] : spread(c, shape);
    return sums.map((value, index) => alpha * value + beta * (bias[index] ?? 0));
  }),
  LessOrEqual: each((x, y) => Number(x <= y)),
  MatMul: kernel(([a, b]) => product(a, b)),
  Mul: each((x, y) => x * y),
  Not: each((x) => 1 - x),
  Or: each((x, y) => x | y),
  Reciprocal: each((x) => 1 / x),
  ReduceMean: kernel(([x], { axes }) => {
    const sums = sum(x, axes);
    return sums.map((total) => (total * sums.length) / x.data.length);
  }),
  ReduceSum: kernel(([x], { axes }) => sum(x, axes)),
  ReduceSumSquare: kernel(([{ shape, data }], { axes }) =>
    sum({ shape, data: Array.from(data, (x) => x * x) }, axes),
  ),
  Relu: each((x) => Math.max(x, 0)),
  Sqrt: each((x) => Math.sqrt(x)),
  Sub: each((x, y) => x - y),
  Where: each((condition, x, y) => (condition === 0 ? y : x)),
};

const native = <D extends "f32" | "i32" | "i64" | "bool">(dtype: D) => ({
  storage: dtype,
  compute: "native" as const,
});

/**
 * Typed arrays and plain loops: float32, the integers of the step's counters, and bools for the decisions made from
 * them.
 */
export function tinyBackend(): Backend {
  return kernelBackend<Data>({
    name: "tiny",
    kernels,
    manifest: {
      ...exactNumerics,
      engine: { name: "tiny", version: "1" },
      device: "cpu",
      dtypes: { f32: native("f32"), i32: native("i32"), i64: native("i64"), bool: native("bool") },
      // Loops over JavaScript numbers cannot multiply large integers exactly, nor mix them with the bigints of i64.
      opDTypes: { Abs: ["f32"], Cast: ["i32", "bool"], Mul: ["f32"], ReduceSum: ["f32"] },
      tolerance: { default: { f32: 4, f16: 0, bf16: 0 } },
      eventLoop: "blocked-during-step",
    },
    // On the host any byte but 0 is true; the loops require 1.
    upload: ({ dtype, data }) =>
      dtype === "bool" ? Uint8Array.from(data as Uint8Array, (byte) => Number(byte !== 0)) : data.slice(),
    download: (data, type) => ({ ...type, data: data.slice() }) as HostTensor,
  });
}
