/** Weights in 8 bits with one scale per row, as of bitsandbytes' `int8_vectorwise_quant` without outliers. */
import { type HostTensor, type Shape, type Tensor, tensor } from "@mp/core";
import { add, cast, mul, reshape } from "@mp/core/ops";

export type Int8Weight<T> = {
  /** Codes from -127 to 127, stored with 128 added, u8 [outputs, inputs]. */
  readonly int8: T;
  /** The largest magnitude of each row, f32 [outputs]. */
  readonly absmax: T;
};

const ZERO = 128;
/** 1 / 127, with the digits of bitsandbytes. */
const UNIT = 7.874015718698502e-3;

/** Quantizes each row of a weight to the nearest codes. */
export function quantize(data: Float32Array, shape: Shape): Int8Weight<HostTensor> {
  const [outputs = 0, inputs = 0] = shape;
  const codes = new Uint8Array(data.length);
  const absmax = new Float32Array(outputs);
  for (let output = 0; output < outputs; output++) {
    const end = (output + 1) * inputs;
    let most = 0;
    for (let at = end - inputs; at < end; at++) most = Math.max(most, Math.abs(data[at] as number));
    absmax[output] = most;
    const perUnit = Math.fround(Math.fround(1 / most) * 127);
    for (let at = end - inputs; at < end; at++)
      codes[at] = ZERO + nearestEven(Math.fround((data[at] as number) * perUnit));
  }
  return { int8: tensor(codes, shape, "u8"), absmax: tensor(absmax, [outputs]) };
}

/** Rounds to the nearest integer, ties to even; 0 for NaN and infinities, to which rows of zeros lead. */
function nearestEven(value: number): number {
  if (!Number.isFinite(value)) return 0;
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

export function onHost({ int8, absmax }: Int8Weight<HostTensor>): HostTensor<"f32"> {
  const [, inputs = 1] = int8.shape;
  const unit = Math.fround(UNIT);
  const data = Float32Array.from(int8.data as Uint8Array, (code, at) => {
    const most = absmax.data[Math.floor(at / inputs)] as number;
    return Math.fround((code - ZERO) * most) * unit;
  });
  return tensor(data, int8.shape);
}

export const tensorShape = ({ int8 }: Int8Weight<{ readonly shape: Shape }>): Shape => int8.shape;

export function dequantize({ int8, absmax }: Int8Weight<Tensor>): Tensor {
  const [outputs = 0] = int8.shape;
  const codes = add(cast(int8, "f32"), -ZERO);
  return mul(mul(codes, reshape(absmax, [outputs, 1])), UNIT);
}
