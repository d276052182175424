/** The stored weight of a linear layer: a tensor, or codes and scales of a frozen, quantized weight. */
import { type HostTensor, isHostTensor, isTensor, MpError, remat, type Shape, type Tensor } from "@mp/core";
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

/** Formats by name, which is also the key of the codes in a quantized weight. */
export const WEIGHT_FORMATS: Readonly<Record<Quantization, WeightFormat>> = { int8, nf4 };

/** Scales must be below this bound, because they are multiplied by codes of up to 127. */
const MOST = 2 ** 121;

/**
 * Quantizes the weight of a linear layer.
 * @throws MP_OUT_OF_RANGE for scales that are not finite, or that are not finite once multiplied by a code
 */
export function quantizeWeight(
  format: Quantization,
  { data, shape }: { readonly data: Float32Array; readonly shape: Shape },
): QuantizedWeight<HostTensor> {
  const weight = WEIGHT_FORMATS[format].quantize(data, shape);
  for (const { dtype, data: scales } of Object.values(weight as Readonly<Record<string, HostTensor>>)) {
    if (dtype !== "f32") continue;
    const wrong = (scales as Float32Array).find((scale) => !(Math.abs(scale) < MOST));
    if (wrong === undefined) continue;
    throw new MpError(
      "MP_OUT_OF_RANGE",
      `${format}: the scales of a weight must be below 2^121, got ${wrong}; take the base in bf16, or correct the weight`,
    );
  }
  return weight;
}

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

/** Runs `compute` on the dequantized weight. The backward pass dequantizes again instead of keeping it. */
export function withWeight(weight: StoredWeight<Tensor>, compute: (weight: Tensor) => Tensor): Tensor {
  const format = weightFormat(weight);
  if (format === undefined) return compute(weight as Tensor);
  return remat(() => compute(format.dequantize(weight as QuantizedWeight<Tensor>)))();
}
