import { isFloat } from "../dtype.js";
import { MpError } from "../errors.js";
import { formatType } from "../graph/builder.js";
import type { Graph, Value, ValueType } from "../graph/graph.js";
import { type HostTensor, isHostTensor } from "../host-tensor.js";
import { sameShape } from "../shape.js";
import { type Arithmetic, type ArithmeticMode, arithmetics } from "./arithmetic.js";
import { fromHost, toHost } from "./host.js";
import { runKernel } from "./kernels.js";
import type { Operand, Store } from "./store.js";
import { sizeOf } from "./strided.js";

export interface EvaluateOptions {
  /** `f64` evaluates all float dtypes in f64 without rounding, for gradient checks. Default `exact`. */
  readonly arithmetic?: ArithmeticMode;
}

/**
 * A tensor as the reference uses it: floats of any dtype are numbers; in f64 arithmetic they are not rounded to that
 * dtype.
 */
export interface RawTensor extends ValueType {
  readonly data: Store;
}

/**
 * Runs a graph once, synchronously, in pure TypeScript.
 * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for inputs that do not match the graph's,
 * MP_OUT_OF_RANGE from an op
 */
export function evaluate(
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor>>,
  options: EvaluateOptions = {},
): Readonly<Record<string, HostTensor>> {
  return mapValues(evaluateRaw(graph, inputs, options), (raw) => toHost(raw.data, raw));
}

/**
 * `evaluate` without conversion to host formats: results are the reference's own numbers, and inputs may be too, as
 * finite differences in f64 need.
 */
export function evaluateRaw(
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor | RawTensor>>,
  { arithmetic: mode = "exact" }: EvaluateOptions = {},
): Readonly<Record<string, RawTensor>> {
  const arithmetic = arithmetics[mode];
  const values = new Map<Value, Operand>();
  const unknown = Object.keys(inputs).find((name) => graph.inputs.every((input) => input.name !== name));
  if (unknown !== undefined) {
    throw new MpError("MP_INVALID_ARGUMENT", `evaluate: the graph has no input "${unknown}"`);
  }
  for (const { name, value } of graph.inputs) {
    const given = inputs[name];
    if (given === undefined) throw new MpError("MP_INVALID_ARGUMENT", `evaluate: input "${name}" is missing`);
    values.set(value, { ...typeOf(value), data: take(name, given, value, arithmetic) });
  }
  const lastUse = lastUses(graph);
  graph.nodes.forEach((node, index) => {
    const operands = node.inputs.map((input) => known(values, input));
    const results = runKernel(node.op, operands, node.attributes, node.outputs, arithmetic);
    node.outputs.forEach((output, k) => {
      values.set(output, { ...typeOf(output), data: results[k] as Store });
    });
    for (const value of [...node.inputs, ...node.outputs]) {
      if ((lastUse.get(value) ?? index) === index) values.delete(value);
    }
  });
  return Object.fromEntries(graph.outputs.map(({ name, value }) => [name, known(values, value)]));
}

const typeOf = ({ dtype, shape }: ValueType): ValueType => ({ dtype, shape });

function known(values: ReadonlyMap<Value, Operand>, value: Value): Operand {
  const operand = values.get(value);
  if (operand === undefined) throw new Error(`internal: value %${value.id} is used before it is made`);
  return operand;
}

/** Index of the node that reads each value last; beyond all nodes for the graph's outputs. */
function lastUses(graph: Graph): ReadonlyMap<Value, number> {
  const last = new Map<Value, number>();
  graph.nodes.forEach((node, index) => {
    for (const input of node.inputs) last.set(input, index);
  });
  for (const { value } of graph.outputs) last.set(value, graph.nodes.length);
  return last;
}

function take(name: string, given: HostTensor | RawTensor, type: ValueType, arithmetic: Arithmetic): Store {
  if (given.dtype !== type.dtype) {
    throw new MpError(
      "MP_DTYPE_MISMATCH",
      `evaluate: input "${name}" is ${given.dtype}, the graph takes ${formatType(type)}`,
    );
  }
  if (!sameShape(given.shape, type.shape) || given.data.length !== sizeOf(type.shape)) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `evaluate: input "${name}" is ${formatType(given)}, the graph takes ${formatType(type)}`,
    );
  }
  return isRaw(given) ? rawStore(given, arithmetic) : fromHost(given, arithmetic);
}

/** Only floats differ from host data: a narrow dtype in a float array, or any float dtype in doubles. */
function isRaw(given: HostTensor | RawTensor): given is RawTensor {
  return (
    !isHostTensor(given) ||
    given.data instanceof Float64Array ||
    (isFloat(given.dtype) && given.dtype !== "f32" && given.data instanceof Float32Array)
  );
}

function rawStore(given: RawTensor, arithmetic: Arithmetic): Store {
  const store = arithmetic.floats(given.data.length);
  store.set(given.data as Float64Array);
  return arithmetic.round(given.dtype, store);
}

function mapValues<A, B>(record: Readonly<Record<string, A>>, map: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
