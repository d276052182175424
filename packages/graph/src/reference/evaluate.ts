import { isFloat } from "../dtype.js";
import { dtypeMismatch, invalid, shapeMismatch } from "../errors.js";
import { formatType } from "../graph/format-type.js";
import type { Graph, ValueType } from "../graph/graph.js";
import { type HostTensor, isHostTensor } from "../host/host-tensor.js";
import { sameShape } from "../shape.js";
import { type Arithmetic, type ArithmeticMode, arithmetics } from "./elements/arithmetic.js";
import { fromHost, toHost } from "./elements/host.js";
import type { Operand, Store } from "./elements/store.js";
import { countElements } from "./elements/strided.js";
import { runGraph } from "./run-graph.js";

export interface EvaluateOptions {
  /** `f64` evaluates all float dtypes in f64 without rounding, for gradient checks. Default `exact`. */
  readonly arithmetic?: ArithmeticMode;
}

/**
 * A tensor as the reference stores it: floats of any dtype are numbers, not bits; f64 arithmetic leaves them
 * unrounded.
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
 * `evaluate` without conversion to host formats: results are raw tensors, and inputs may be. Finite differences in f64
 * need raw inputs and raw results.
 */
export function evaluateRaw(
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor | RawTensor>>,
  { arithmetic: mode = "exact" }: EvaluateOptions = {},
): Readonly<Record<string, RawTensor>> {
  const arithmetic = arithmetics[mode];
  const unknown = Object.keys(inputs).find((name) => graph.inputs.every((input) => input.name !== name));
  if (unknown !== undefined) {
    throw invalid(`evaluate: the graph has no input "${unknown}"`);
  }
  const operands = graph.inputs.map(({ name, value }): Operand => {
    const given = inputs[name];
    if (given === undefined) throw invalid(`evaluate: input "${name}" is missing`);
    return { dtype: value.dtype, shape: value.shape, data: take(name, given, value, arithmetic) };
  });
  const results = runGraph(graph, operands, arithmetic);
  return Object.fromEntries(graph.outputs.map(({ name }, index) => [name, results[index] as Operand]));
}

function take(name: string, given: HostTensor | RawTensor, type: ValueType, arithmetic: Arithmetic): Store {
  if (given.dtype !== type.dtype) {
    throw dtypeMismatch(`evaluate: input "${name}" is ${given.dtype}, the graph takes ${formatType(type)}`);
  }
  if (!sameShape(given.shape, type.shape) || given.data.length !== countElements(type.shape)) {
    throw shapeMismatch(
      `evaluate: input "${name}" is ${formatType(given)}, the graph takes ${formatType(type)}`,
    );
  }
  return isRaw(given) ? rawStore(given, arithmetic) : fromHost(given, arithmetic);
}

/** Whether a tensor is raw: floats in a Float64Array, or floats narrower than f32 in a Float32Array. */
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
