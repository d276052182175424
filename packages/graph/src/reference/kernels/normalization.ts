// These kernels compute in f32 for every dtype, round every intermediate to f32, and round their results once. ONNX's
// function bodies round the normalized values to x's dtype before scale and bias; here, as in the engines' kernels,
// they are not rounded.
import type { OpOf } from "../../graph/families.js";
import type { Arithmetic } from "../elements/arithmetic.js";
import { outputType, type ReferenceTable } from "../elements/kernel.js";
import { type FloatStore, type Operand, operand, readFloats } from "../elements/store.js";
import { broadcastStrides, countElements, forEachRun } from "../elements/strided.js";
import { logSoftmaxKernel, softmaxKernel } from "./softmax.js";

/** Computes y · part or y + part in place, for a part that broadcasts over the normalized axes of each row. */
function applyPart(y: FloatStore, x: Operand, part: Operand | undefined, axis: number, add: boolean): void {
  if (part === undefined) return;
  const data = readFloats(part);
  const normalized = x.shape.slice(axis);
  const strides = broadcastStrides(part.shape, normalized);
  forEachRun(
    x.shape,
    [[...x.shape.slice(0, axis).fill(0), ...strides]],
    ([from = 0], [step = 0], length, at) => {
      for (let k = 0; k < length; k++) {
        const own = y[at + k] as number;
        const other = data[from + k * step] as number;
        y[at + k] = add ? own + other : own * other;
      }
    },
  );
}

/** The mean of f(x) over the elements x of each row. */
function rowMeans(
  x: FloatStore,
  rows: number,
  f: (value: number, row: number) => number,
  arithmetic: Arithmetic,
): FloatStore {
  const means = arithmetic.floats(rows);
  const width = x.length / rows;
  for (let row = 0; row < rows; row++) {
    for (let k = row * width; k < (row + 1) * width; k++) {
      means[row] = (means[row] as number) + f(x[k] as number, row);
    }
    means[row] = (means[row] as number) / width;
  }
  return means;
}

/** Returns 1 / √(variance + ε) for each variance. */
export function inverseDeviations(variance: FloatStore, epsilon: number, arithmetic: Arithmetic): FloatStore {
  const small = arithmetic.attribute(epsilon);
  const deviations = variance.map((x) => x + small).map((x) => Math.sqrt(x));
  return deviations.map((x) => 1 / x);
}

export const normalizationKernels: ReferenceTable<OpOf<"normalization">> = {
  Softmax: softmaxKernel,
  LogSoftmax: logSoftmaxKernel,

  /** Computes the variance from squared differences, not from a difference of squares. */
  LayerNormalization: (inputs, { axis, epsilon }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const data = readFloats(x);
    const rows = countElements(x.shape.slice(0, axis));
    const width = data.length / rows;
    const means = rowMeans(data, rows, (value) => value, arithmetic);
    const y = arithmetic.floats(data.length);
    for (let at = 0; at < y.length; at++) {
      y[at] = (data[at] as number) - (means[Math.floor(at / width)] as number);
    }
    const variance = rowMeans(y, rows, (value) => value * value, arithmetic);
    const inverse = inverseDeviations(variance, epsilon, arithmetic);
    for (let at = 0; at < y.length; at++) {
      y[at] = (y[at] as number) * (inverse[Math.floor(at / width)] as number);
    }
    applyPart(y, x, operand(inputs, 1), axis, false);
    applyPart(y, x, inputs[2], axis, true);
    return [arithmetic.round(outputType(outputs).dtype, y), means, inverse];
  },

  RMSNormalization: (inputs, { axis, epsilon }, outputs, arithmetic) => {
    const x = operand(inputs, 0);
    const data = readFloats(x);
    const rows = countElements(x.shape.slice(0, axis));
    const width = data.length / rows;
    const squares = rowMeans(data, rows, (value) => value * value, arithmetic);
    const inverse = inverseDeviations(squares, epsilon, arithmetic);
    const y = arithmetic.floats(data.length);
    for (let at = 0; at < y.length; at++) {
      y[at] = (data[at] as number) * (inverse[Math.floor(at / width)] as number);
    }
    applyPart(y, x, operand(inputs, 1), axis, false);
    return [arithmetic.round(outputType(outputs).dtype, y)];
  },
};
