import type { DType, FloatDType } from "../src/dtype.js";
import { decodeArray, encodeArray } from "../src/float-format/bits.js";
import type { Op, OpAttributes } from "../src/graph/attributes.js";
import { GraphBuilder } from "../src/graph/build/builder.js";
import type { Graph, ValueType } from "../src/graph/graph.js";
import type { HostTensor } from "../src/host/host-tensor.js";
import { evaluate } from "../src/reference/evaluate.js";
import type { Shape } from "../src/shape.js";

/** A graph of one node; inputs x0, x1, …, outputs y0, y1, … */
export function graphOfOp<K extends Op>(
  op: K,
  types: readonly ValueType[],
  attributes: OpAttributes[K],
): Graph {
  const builder = new GraphBuilder();
  const inputs = types.map((type, index) => builder.input(`x${index}`, type, "batch"));
  const outputs = builder.emit(op, inputs, attributes);
  return builder.finish(Object.fromEntries(outputs.map((value, index) => [`y${index}`, value])));
}

/** Runs one op on host tensors in exact arithmetic. */
export function evaluateOp<K extends Op>(
  op: K,
  inputs: readonly HostTensor[],
  attributes: OpAttributes[K],
): readonly HostTensor[] {
  const graph = graphOfOp(op, inputs, attributes);
  const named = Object.fromEntries(inputs.map((input, index) => [`x${index}`, input]));
  return Object.values(evaluate(graph, named));
}

/** Numbers as a float tensor, each rounded once. */
export function floats<D extends FloatDType>(
  dtype: D,
  numbers: readonly number[],
  shape?: Shape,
): HostTensor {
  return {
    dtype,
    shape: shape ?? [numbers.length],
    data: encodeArray<FloatDType>(dtype, Float64Array.from(numbers)),
  } as HostTensor;
}

/** The elements of a tensor as numbers; 64-bit integers must be small. */
export function numbersOf(tensor: HostTensor | undefined): readonly number[] {
  if (tensor === undefined) throw new Error("there is no such output");
  const { dtype, data } = tensor;
  const floating: readonly DType[] = ["f16", "bf16", "f8e4m3", "f8e5m2"];
  if (floating.includes(dtype)) return [...decodeArray(dtype as FloatDType, data as Uint16Array)];
  return Array.from(data as Iterable<number | bigint>, Number);
}
