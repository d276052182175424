/** The stored weight of a linear layer: a tensor, or the codes and scales of a quantized frozen one. */
import { type HostTensor, isHostTensor, isTensor, remat, type Shape, type Tensor } from "@mp/core";
import * as int8 from "./int8.js";
import * as nf4 from "./nf4.js";

export type QuantizedWeight<T> = int8.Int8Weight<T> | nf4.Nf4Weight<T>;
export type StoredWeight<T> = T | QuantizedWeight<T>;

/** Formats of a quantized frozen weight: 8-bit codes with a scale per row, or 4-bit codes with a scale per block. */
export type Quantization = "int8" | "nf4";

interface WeightFormat {
  quantize(data: Float32Array, shape: Shape): QuantizedWeight<HostTensor>;
  /** The shape of the dequantized tensor. */
  tensorShape(weight: QuantizedWeight<{ readonly shape: Shape }>): Shape;
  onHost(weight: QuantizedWeight<HostTensor>): HostTensor<"f32">;
  /** Dequantizes a traced weight to f32. */
  dequantize(weight: QuantizedWeight<Tensor>): Tensor;
}

/** Formats by the key of their codes in the record. */
export const WEIGHT_FORMATS: Readonly<Record<Quantization, WeightFormat>> = { int8, nf4 };

const NAMES = Object.keys(WEIGHT_FORMATS) as readonly Quantization[];

const weightFormat = (weight: unknown): WeightFormat | undefined => {
  if (typeof weight !== "object" || weight === null) return undefined;
  const name = NAMES.find((each) => Object.hasOwn(weight, each));
  return name === undefined ? undefined : WEIGHT_FORMATS[name];
};

/** Whether a value is a weight on the host, quantized or not. */
export const isStoredWeight = (value: unknown): value is StoredWeight<HostTensor> =>
  isHostTensor(value) || weightFormat(value) !== undefined;

/** The shape of a weight, quantized or not, on the host or traced; undefined for any other value. */
export const weightShape = (value: unknown): Shape | undefined =>
  weightFormat(value)?.tensorShape(value as QuantizedWeight<Tensor>) ??
  (isHostTensor(value) || isTensor(value) ? value.shape : undefined);

/** Dequantizes a weight on the host to f32; a plain tensor is returned as it is. */
export const weightOnHost = (weight: StoredWeight<HostTensor>): HostTensor =>
  weightFormat(weight)?.onHost(weight as QuantizedWeight<HostTensor>) ?? (weight as HostTensor);

/** Computes with a dequantized weight, which is not kept for the backward pass. */
export function withWeight(weight: StoredWeight<Tensor>, compute: (weight: Tensor) => Tensor): Tensor {
  const format = weightFormat(weight);
  if (format === undefined) return compute(weight as Tensor);
  return remat(() => compute(format.dequantize(weight as QuantizedWeight<Tensor>)))();
}
