import { outputType, type ReferenceKernel } from "../elements/kernel.js";
import { type BigStore, isBig, type NumberStore, operand, type Store } from "../elements/store.js";
import { viewOfAxis } from "../elements/strided.js";

/** Cumulative sums along the axis; halves accumulate in f32, and each sum is rounded separately. */
export const cumSumKernel: ReferenceKernel<"CumSum"> = (inputs, attributes, outputs, arithmetic) => {
  const x = operand(inputs, 0);
  const { dtype, shape } = outputType(outputs);
  const out = arithmetic.allocate(dtype, x.data.length);
  const { outer, size, inner } = viewOfAxis(shape, attributes.axis);
  const step = attributes.reverse ? -inner : inner;
  for (let block = 0; block < outer; block++) {
    for (let column = 0; column < inner; column++) {
      const start = block * size * inner + column + (attributes.reverse ? (size - 1) * inner : 0);
      runningSum(x.data, out, start, step, size, attributes.exclusive);
    }
  }
  return [arithmetic.round(dtype, out)];
};

function runningSum(
  x: Store,
  out: Store,
  start: number,
  step: number,
  size: number,
  exclusive: boolean,
): void {
  // `out` holds the partial sums themselves, so that they are rounded as they are stored.
  const lag = exclusive ? step : 0;
  for (let k = exclusive ? 1 : 0; k < size; k++) {
    const at = start + k * step;
    if (isBig(x)) {
      const sum = k === 0 ? 0n : ((out as BigStore)[at - step] as bigint);
      (out as BigStore)[at] = sum + (x[at - lag] as bigint);
    } else {
      const sum = k === 0 ? 0 : ((out as NumberStore)[at - step] as number);
      (out as NumberStore)[at] = sum + (x[at - lag] as number);
    }
  }
}
