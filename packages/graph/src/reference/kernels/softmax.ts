import type { Arithmetic } from "../elements/arithmetic.js";
import type { ReferenceKernel } from "../elements/kernel.js";
import { outputType } from "../elements/kernel.js";
import { type FloatStore, operand, readFloats } from "../elements/store.js";
import { type AxisView, viewOfAxis } from "../elements/strided.js";

/** Processes one column along the axis: its elements are at `start` + k · `step`. */
type Column = (start: number, step: number, size: number) => void;

function forEachColumn({ outer, size, inner }: AxisView, visit: Column): void {
  for (let block = 0; block < outer; block++) {
    for (let column = 0; column < inner; column++) visit(block * size * inner + column, inner, size);
  }
}

/** x - max(x) of one column, so that no exponential overflows. NaN propagates. */
function shift(x: FloatStore, out: FloatStore, start: number, step: number, size: number): void {
  let most = Number.NEGATIVE_INFINITY;
  for (let k = 0; k < size; k++) most = Math.max(most, x[start + k * step] as number);
  for (let at = start; at < start + size * step; at += step) out[at] = (x[at] as number) - most;
}

/** Log-softmax in the precision that ops compute in, not yet rounded to a dtype. */
export function logSoftmax(x: FloatStore, view: AxisView, arithmetic: Arithmetic): FloatStore {
  const out = arithmetic.floats(x.length);
  const scratch = arithmetic.floats(2);
  forEachColumn(view, (start, step, size) => {
    const end = start + size * step;
    shift(x, out, start, step, size);
    scratch[0] = 0;
    for (let at = start; at < end; at += step) {
      scratch[1] = Math.exp(out[at] as number);
      scratch[0] = (scratch[0] as number) + (scratch[1] as number);
    }
    scratch[0] = Math.log(scratch[0] as number);
    for (let at = start; at < end; at += step) out[at] = (out[at] as number) - (scratch[0] as number);
  });
  return out;
}

export const softmaxKernel: ReferenceKernel<"Softmax"> = (inputs, { axis }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const out = arithmetic.floats(x.data.length);
  const sum = arithmetic.floats(1);
  forEachColumn(viewOfAxis(x.shape, axis), (start, step, size) => {
    const end = start + size * step;
    shift(readFloats(x), out, start, step, size);
    sum[0] = 0;
    for (let at = start; at < end; at += step) {
      out[at] = Math.exp(out[at] as number);
      sum[0] = (sum[0] as number) + (out[at] as number);
    }
    for (let at = start; at < end; at += step) out[at] = (out[at] as number) / (sum[0] as number);
  });
  return [arithmetic.round(outputType(outputs).dtype, out)];
};

export const logSoftmaxKernel: ReferenceKernel<"LogSoftmax"> = (inputs, { axis }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const out = logSoftmax(readFloats(x), viewOfAxis(x.shape, axis), arithmetic);
  return [arithmetic.round(outputType(outputs).dtype, out)];
};
