import { outputType, type ReferenceKernel } from "../elements/kernel.js";
import { operand, readElements } from "../elements/store.js";
import { broadcastStrides, countElements, forEachRun } from "../elements/strided.js";

/** A selection, not arithmetic: NaN and infinity in the operand not selected have no effect. */
export const whereKernel: ReferenceKernel<"Where"> = (inputs, _, outputs, arithmetic) => {
  const { dtype, shape } = outputType(outputs);
  const condition = operand(inputs, 0).data;
  const x = readElements(operand(inputs, 1).data);
  const y = readElements(operand(inputs, 2).data);
  const out = arithmetic.allocate(dtype, countElements(shape));
  const to = readElements(out);
  const strides = inputs.map((input) => broadcastStrides(input.shape, shape));
  forEachRun(shape, strides, ([c = 0, i = 0, j = 0], [dc = 0, di = 0, dj = 0], length, at) => {
    for (let k = 0; k < length; k++) {
      to[at + k] = (condition[c + k * dc] !== 0 ? x[i + k * di] : y[j + k * dj]) as number;
    }
  });
  return [out];
};
