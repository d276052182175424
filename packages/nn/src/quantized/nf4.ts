/**
 * Weights in 4 bits: NF4 with double quantization (QLoRA, arXiv 2305.14314), with the same codes and numbers as
 * bitsandbytes' `quantize_4bit(compress_statistics=True)`. Blocks are 64 consecutive elements of the flattened
 * weight, regardless of rows.
 */
import { type HostTensor, MpError, type Shape, type Tensor, tensor } from "@mp/core";
import { add, cast, constant, expand, gather, mul, reshape, slice } from "@mp/core/ops";
import { DYNAMIC_NUMBERS, dynamicCodes } from "./dynamic-codes.js";
import { torchMean } from "./torch-mean.js";

export type Nf4Weight<T> = {
  /** Two codes per byte, the first in the upper half, u8 [outputs, inputs / 2]. */
  readonly nf4: T;
  /** Codes of the block scales: the largest magnitude of each block of 64, u8 [blocks]. */
  readonly absmax: T;
  /** One scale for every 256 codes of `absmax`, f32. */
  readonly nestedAbsmax: T;
  /** The mean of the block scales, which is subtracted before they are quantized, f32 []. */
  readonly offset: T;
};

const BLOCK = 64;
const NESTED = 256;

/** The numbers that the 16 codes stand for: quantiles of the normal distribution, scaled to [-1, 1]. */
const NUMBERS = Float32Array.of(
  ...[-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635],
  ...[-0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725],
  ...[0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941],
  ...[0.7229568362236023, 1],
);

const LIMITS = Float32Array.from(
  NUMBERS.subarray(1),
  (number, at) => Math.fround(number + (NUMBERS[at] as number)) / 2,
);

/** The smallest divisor, which makes quotients finite in blocks of zeros and subnormals. */
const LEAST = Math.fround(1e-38);

/** @throws MP_UNSUPPORTED for an odd number of inputs */
export function quantize(data: Float32Array, shape: Shape): Nf4Weight<HostTensor> {
  const [outputs = 0, inputs = 0] = shape;
  if (inputs % 2 !== 0)
    throw new MpError(
      "MP_UNSUPPORTED",
      `nf4: a weight [outputs, inputs] must have an even number of inputs, got [${shape.join(", ")}]; take the base in int8`,
    );
  const codes = new Uint8Array(data.length / 2);
  const absmax = new Float32Array(Math.ceil(data.length / BLOCK));
  for (const block of absmax.keys()) {
    const start = block * BLOCK;
    const end = Math.min(start + BLOCK, data.length);
    let most = 0;
    for (let at = start; at < end; at++) most = Math.max(most, Math.abs(data[at] as number));
    const divisor = Math.max(most, LEAST);
    // Divides a block that the weight's end truncates; multiplies others by the inverse.
    const isWhole = end - start === BLOCK;
    absmax[block] = isWhole ? most : divisor;
    const inverse = Math.fround(1 / divisor);
    const code = (at: number): number => {
      const value = data[at] as number;
      return nearestCode(Math.fround(isWhole ? value * inverse : value / divisor));
    };
    for (let at = start; at < end; at += 2) codes[at / 2] = code(at) * 16 + code(at + 1);
  }
  const offset = torchMean(absmax);
  const nested = dynamicCodes(
    absmax.map((value) => value - offset),
    NESTED,
  );
  return {
    nf4: tensor(codes, [outputs, inputs / 2], "u8"),
    absmax: tensor(nested.codes, [absmax.length], "u8"),
    nestedAbsmax: tensor(nested.absmax, [nested.absmax.length]),
    offset: tensor(Float32Array.of(offset), []),
  };
}

/** The nearest code; for a value exactly between two codes, the lower one. */
function nearestCode(value: number): number {
  let code = 0;
  for (let half = 8; half >= 1; half /= 2) if ((LIMITS[code + half - 1] as number) < value) code += half;
  return code;
}

export function tensorShape({ nf4 }: Nf4Weight<{ readonly shape: Shape }>): Shape {
  const [outputs = 0, bytes = 0] = nf4.shape;
  return [outputs, bytes * 2];
}

export function onHost(weight: Nf4Weight<HostTensor>): HostTensor<"f32"> {
  const { nf4, absmax, nestedAbsmax, offset } = weight;
  const codes = nf4.data as Uint8Array;
  const [mean = 0] = offset.data as Float32Array;
  const scales = Float32Array.from(absmax.data as Uint8Array, (code, block) => {
    const unit = nestedAbsmax.data[Math.floor(block / NESTED)] as number;
    return Math.fround((DYNAMIC_NUMBERS[code] as number) * unit) + mean;
  });
  const data = new Float32Array(codes.length * 2);
  for (const at of data.keys()) {
    const byte = codes[at >> 1] as number;
    const number = NUMBERS[at % 2 === 0 ? byte >> 4 : byte & 15] as number;
    data[at] = number * (scales[Math.floor(at / BLOCK)] as number);
  }
  return tensor(data, tensorShape(weight));
}

/** For each byte, the numbers of its two codes, so that one lookup gives two weights, without extracting codes. */
const PAIRS = tensor(
  Float32Array.from({ length: 512 }, (_, at) => NUMBERS[at % 2 === 0 ? at >> 5 : (at >> 1) & 15] as number),
  [256, 2],
);
const DYNAMIC = tensor(DYNAMIC_NUMBERS, [DYNAMIC_NUMBERS.length]);

export function dequantize(weight: Nf4Weight<Tensor>): Tensor {
  const { nf4, absmax, nestedAbsmax, offset } = weight;
  const [outputs = 0, inputs = 0] = tensorShape(weight);
  const lookUp = (table: HostTensor, codes: Tensor): Tensor => gather(constant(table), cast(codes, "i32"));
  const scales = add(scaleBlocks(lookUp(DYNAMIC, absmax), nestedAbsmax, NESTED), offset);
  const numbers = reshape(lookUp(PAIRS, nf4), [outputs * inputs]);
  return reshape(scaleBlocks(numbers, scales, BLOCK), [outputs, inputs]);
}

/** Multiplies blocks of `size` values by their scales; the last block may be shorter. */
function scaleBlocks(values: Tensor, scales: Tensor, size: number): Tensor {
  const [count = 0] = values.shape;
  const [blocks = 0] = scales.shape;
  const column = reshape(scales, [blocks, 1]);
  if (count === blocks * size) return reshape(mul(reshape(values, [blocks, size]), column), [count]);
  const each = reshape(expand(column, [blocks, size]), [blocks * size]);
  return mul(values, slice(each, [{ axis: 0, end: count }]));
}
