/** The unit of the residual nets: a convolution without bias, followed by its normalization. */
import { type HostTensor, tensor } from "@mp/core";
import {
  type BatchNormParameters,
  type BatchNormState,
  batchNorm,
  convolution,
  type Nothing,
  type StatefulLayer,
  sequential,
} from "@mp/nn";
import { uniformValues } from "./hash-values.js";
import type { InitialValues } from "./initial-values.js";

/** Permutes the axes of `values` from `shape` to the order of `perm`. */
function permute(values: Float32Array, shape: Triple, perm: Triple): Float32Array {
  const strides = [shape[1] * shape[2], shape[2], 1];
  const [a, b, c] = perm.map((axis) => ({ size: shape[axis] ?? 1, stride: strides[axis] ?? 1 })) as [
    Axis,
    Axis,
    Axis,
  ];
  const turned = new Float32Array(values.length);
  let next = 0;
  for (let i = 0; i < a.size; i++)
    for (let j = 0; j < b.size; j++)
      for (let k = 0; k < c.size; k++)
        turned[next++] = values[i * a.stride + j * b.stride + k * c.stride] ?? 0;
  return turned;
}

interface Axis {
  readonly size: number;
  readonly stride: number;
}
type Triple = readonly [number, number, number];

export interface UnitPlan {
  readonly taps: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly stride: number;
}
type UnitParameters = readonly [{ readonly kernel: HostTensor<"f32"> }, BatchNormParameters];

type UnitState = readonly [Nothing, BatchNormState];

/** A convolution without bias, followed by its normalization. */
export const unit = ({ taps, inputs, outputs, stride }: UnitPlan): StatefulLayer<UnitParameters, UnitState> =>
  sequential(
    convolution(inputs, outputs, taps, { stride, padding: taps >> 1, bias: false }),
    batchNorm(outputs, { momentum: 0.9 }),
  );

/** Draws kernels with the taps first, as the peers do, and transposes them. */
export function drawUnit(draw: InitialValues, { taps, inputs, outputs }: UnitPlan): UnitParameters {
  const area = taps * taps;
  const { data } = draw.uniform([area, inputs, outputs], Math.sqrt(6 / (area * inputs)));
  const kernel = tensor(permute(data, [area, inputs, outputs], [2, 1, 0]), [outputs, inputs, taps, taps]);
  return [{ kernel }, { scale: draw.ones([outputs]), bias: draw.zeros([outputs]) }];
}

/** Draws images in ±√3, [N, 3, size, size], with the channels last, as the peers do, and transposes them. */
export function drawImages(batch: number, size: number): HostTensor<"f32"> {
  const pixels = uniformValues(1, batch * size * size * 3, Math.sqrt(3));
  return tensor(permute(pixels, [batch, size * size, 3], [0, 2, 1]), [batch, 3, size, size]);
}
