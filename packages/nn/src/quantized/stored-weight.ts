/** The weight of a linear layer as a tree holds it: a tensor, or a record of codes and scales of a frozen one. */
import { type HostTensor, isHostTensor, isTensor, remat, type Shape, type Tensor } from "@mp/core";
import * as int8 from "./int8.js";
import * as nf4 from "./nf4.js";

export type QuantizedWeight<T> = int8.Int8Weight<T> | nf4.Nf4Weight<T>;
export type StoredWeight<T> = T | QuantizedWeight<T>;

/** Formats of a quantized frozen weight: 8-bit codes with a scale a row, or 4-bit codes with a scale a block. */
export type Quantization = "int8" | "nf4";

interface WeightFormat {
  quantize(data: Float32Array, shape: Shape): QuantizedWeight<HostTensor>;
  /** The shape of the tensor that it stands for. */
  tensorShape(weight: QuantizedWeight<{ readonly shape: Shape }>): Shape;
  onHost(weight: QuantizedWeight<HostTensor>): HostTensor<"f32">;
  /** In f32. */
  dequantize(weight: QuantizedWeight<Tensor>): Tensor;
}

/** Each format by the name that its codes have in the record. */
export const WEIGHT_FORMATS: Readonly<Record<Quantization, WeightFormat>> = { int8, nf4 };

const NAMES = Object.keys(WEIGHT_FORMATS) as readonly Quantization[];

const weightFormat = (weight: unknown): WeightFormat | undefined => {
  if (typeof weight !== "object" || weight === null) return undefined;
  const name = NAMES.find((each) => Object.hasOwn(weight, each));
  return name === undefined ? undefined : WEIGHT_FORMATS[name];
};

/** Whether it is a weight on the host, in any of its forms. */
export const isStoredWeight = (value: unknown): value is StoredWeight<HostTensor> =>
  isHostTensor(value) || weightFormat(value) !== undefined;

/** The shape of a weight in any of its forms, on the host or traced; undefined for what is none. */
export const weightShape = (value: unknown): Shape | undefined =>
  weightFormat(value)?.tensorShape(value as QuantizedWeight<Tensor>) ??
  (isHostTensor(value) || isTensor(value) ? value.shape : undefined);

/** The tensor on the host that a stored weight stands for: f32, or as it is. */
export const weightOnHost = (weight: StoredWeight<HostTensor>): HostTensor =>
  weightFormat(weight)?.onHost(weight as QuantizedWeight<HostTensor>) ?? (weight as HostTensor);

/** Computes with the tensor that a traced weight stands for, which is not kept for the backward pass. */
export function withWeight(weight: StoredWeight<Tensor>, compute: (weight: Tensor) => Tensor): Tensor {
  const format = weightFormat(weight);
  if (format === undefined) return compute(weight as Tensor);
  return remat(() => compute(format.dequantize(weight as QuantizedWeight<Tensor>)))();
}
