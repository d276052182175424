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
  const kernel = data.map((_, at) => {
    const [tap, input] = [at % area, Math.floor(at / area) % inputs];
    return data[(tap * inputs + input) * outputs + Math.floor(at / (area * inputs))] as number;
  });
  return [
    { kernel: tensor(kernel, [outputs, inputs, taps, taps]) },
    { scale: draw.ones([outputs]), bias: draw.zeros([outputs]) },
  ];
}

/** Draws images in ±√3, [N, 3, size, size], with the channels last, as the peers do, and transposes them. */
export function drawImages(batch: number, size: number): HostTensor<"f32"> {
  const area = size * size;
  const pixels = uniformValues(1, batch * area * 3, Math.sqrt(3));
  const images = pixels.map((_, at) => {
    const [image, channel] = [Math.floor(at / (3 * area)), Math.floor(at / area) % 3];
    return pixels[(image * area + (at % area)) * 3 + channel] as number;
  });
  return tensor(images, [batch, 3, size, size]);
}
