import type { Arithmetic } from "../arithmetic.js";
import type { ReferenceKernel } from "../kernel.js";
import { outputType } from "../kernel.js";
import { type FloatStore, floatsOf, operand } from "../store.js";
import { type AxisView, viewOfAxis } from "../strided.js";

/** x - max along the axis and then, in `sums`, Σ exp of it: one entry a column. All in f32 steps. */
function shiftAndSum(
  x: FloatStore,
  { outer, size, inner }: AxisView,
  shifted: FloatStore,
  sums: FloatStore,
): void {
  for (let block = 0; block < outer; block++) {
    for (let column = 0; column < inner; column++) {
      const start = block * size * inner + column;
      const lane = block * inner + column;
      let most = Number.NEGATIVE_INFINITY;
      for (let k = 0; k < size; k++) most = Math.max(most, x[start + k * inner] as number);
      for (let k = 0; k < size; k++) {
        const at = start + k * inner;
        shifted[at] = (x[at] as number) - most;
        sums[lane] = (sums[lane] as number) + Math.exp(shifted[at] as number);
      }
    }
  }
}

/** log softmax in the precision that ops compute in, not yet rounded to a dtype. */
export function logSoftmax(x: FloatStore, view: AxisView, arithmetic: Arithmetic): FloatStore {
  const { outer, size, inner } = view;
  const out = arithmetic.floats(x.length);
  const sums = arithmetic.floats(outer * inner);
  shiftAndSum(x, view, out, sums);
  for (let lane = 0; lane < sums.length; lane++) sums[lane] = Math.log(sums[lane] as number);
  for (let at = 0; at < out.length; at++) {
    const lane = Math.floor(at / (size * inner)) * inner + (at % inner);
    out[at] = (out[at] as number) - (sums[lane] as number);
  }
  return out;
}

export const softmaxKernel: ReferenceKernel<"Softmax"> = (inputs, { axis }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const view = viewOfAxis(x.shape, axis);
  const { outer, size, inner } = view;
  const out = arithmetic.floats(x.data.length);
  const sums = arithmetic.floats(outer * inner);
  shiftAndSum(floatsOf(x), view, out, sums);
  for (let at = 0; at < out.length; at++) {
    const lane = Math.floor(at / (size * inner)) * inner + (at % inner);
    out[at] = Math.exp(out[at] as number) / (sums[lane] as number);
  }
  return [arithmetic.round(outputType(outputs).dtype, out)];
};

export const logSoftmaxKernel: ReferenceKernel<"LogSoftmax"> = (inputs, { axis }, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const out = logSoftmax(floatsOf(x), viewOfAxis(x.shape, axis), arithmetic);
  return [arithmetic.round(outputType(outputs).dtype, out)];
};
