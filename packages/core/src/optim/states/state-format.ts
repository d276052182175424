/** Formats in which a tensor of an optimizer's state is stored, and the conversion of f32 values to them and back. */
import { type DType, elementCount, floatFormats, type Key, type Shape, type Tensor } from "@mp/graph";
import {
  abs,
  cast,
  clip,
  div,
  maximum,
  mul,
  pad,
  randomUniform,
  reciprocal,
  reduceMax,
  reshape,
  slice,
  stochasticallyRounded,
} from "@mp/graph/ops";
import { dynamicallyDecoded, dynamicallyEncoded, type Signs } from "./dynamic-map.js";

/** The dtypes in which a state may be stored; they are also the names of the formats. */
export const STATE_FORMATS = ["f32", "bf16", "f16", "f8e4m3", "u8"] as const;
export type StateFormat = (typeof STATE_FORMATS)[number];

/** A stored tensor: values or codes in the tensor's shape, and the f32 scales that they are multiplied by. */
export interface Stored {
  readonly codes: Tensor;
  readonly scales?: Tensor | undefined;
}

export const isStateFormat = (dtype: DType): dtype is StateFormat =>
  (STATE_FORMATS as readonly DType[]).includes(dtype);

interface Scales {
  /** The suffix that turns the name of a slot into the name of its scales' slot, by the signs of the values. */
  readonly suffix: Readonly<Record<Signs, string>>;
  /** Shape of the scales for a tensor with this many elements. */
  shapeOf(elements: number): Shape;
  readonly bounds: readonly [smallest: number, largest: number];
}

interface Codec {
  readonly scales: Scales | undefined;
  /** Encodes f32 values; rounds to nearest without a key, else stochastically. */
  encode(x: Tensor, signs: Signs, key: Key | undefined): Stored;
  decode(stored: { readonly codes: Tensor; readonly scales: Tensor }, signs: Signs): Tensor;
}

/** Number of elements in row-major order that share a scale in format "u8". */
const BLOCK = 256;

/** Lower bound of scales: a smaller one has no reciprocal on engines without subnormals. */
const SMALLEST_SCALE = 2 ** -120;

/** Codec with one scale per tensor, which brings the largest magnitude to `place`, below the dtype's largest number. */
const scaledCodec = (dtype: "f16" | "f8e4m3", place: number): Codec => ({
  scales: {
    suffix: { both: ".scale", nonNegative: ".scale" },
    shapeOf: () => [],
    bounds: [SMALLEST_SCALE, floatFormats.f32.maxFinite / place],
  },
  encode: (x, _signs, key) => {
    const scales = maximum(div(reduceMax(abs(x)), place), SMALLEST_SCALE);
    const { maxFinite } = floatFormats[dtype];
    const placed = clip(mul(x, reciprocal(scales)), { min: -maxFinite, max: maxFinite });
    return {
      codes: key === undefined ? cast(placed, dtype) : stochasticallyRounded(placed, key, dtype),
      scales,
    };
  },
  decode: ({ codes, scales }) => mul(cast(codes, "f32"), scales),
});

const codecs: Readonly<Record<StateFormat, Codec>> = {
  f32: { scales: undefined, encode: (codes) => ({ codes }), decode: ({ codes }) => codes },
  bf16: {
    scales: undefined,
    encode: (x, _signs, key) => ({
      codes: key === undefined ? cast(x, "bf16") : stochasticallyRounded(x, key),
    }),
    decode: ({ codes }) => cast(codes, "f32"),
  },
  f16: scaledCodec("f16", 2 ** 15),
  f8e4m3: scaledCodec("f8e4m3", 2 ** 8),
  u8: {
    scales: {
      suffix: { both: ".absmax", nonNegative: ".max" },
      shapeOf: (elements) => [Math.ceil(elements / BLOCK)],
      bounds: [SMALLEST_SCALE, floatFormats.f32.maxFinite],
    },
    encode: (x, signs, key) => {
      const blocks = inBlocks(x);
      const largest = reduceMax(signs === "both" ? abs(blocks) : blocks, { axes: [1], keepdims: true });
      const scales = maximum(largest, SMALLEST_SCALE);
      const draw = key === undefined ? undefined : randomUniform(key, blocks.shape);
      const codes = dynamicallyEncoded(mul(blocks, reciprocal(scales)), signs, draw);
      return { codes: outOfBlocks(codes, x.shape), scales: reshape(scales, [-1]) };
    },
    decode: ({ codes, scales }, signs) => {
      const values = dynamicallyDecoded(inBlocks(codes), signs);
      return outOfBlocks(mul(values, reshape(scales, [-1, 1])), codes.shape);
    },
  },
};

/** Arranges the elements in rows of one block; the last row is padded with 0. */
function inBlocks(x: Tensor): Tensor {
  const elements = elementCount(x.shape, "states");
  const missing = (-elements % BLOCK) + (elements % BLOCK === 0 ? 0 : BLOCK);
  const flat = reshape(x, [elements]);
  return reshape(missing === 0 ? flat : pad(flat, [[0, missing]]), [-1, BLOCK]);
}

function outOfBlocks(blocks: Tensor, shape: Shape): Tensor {
  const elements = elementCount(shape, "states");
  const flat = reshape(blocks, [-1]);
  return reshape(elements % BLOCK === 0 ? flat : slice(flat, [{ axis: 0, end: elements }]), shape);
}

/** The scales of a format; undefined if it has none. */
export const formatScales = (format: StateFormat): Scales | undefined => codecs[format].scales;

/** Encodes f32 values in a format, rounded to nearest or, with a key, stochastically. */
export const encodeState = (x: Tensor, format: StateFormat, signs: Signs, key?: Key): Stored =>
  codecs[format].encode(x, signs, key);

/** Decodes a stored tensor to f32. The dtype of its codes names the format. */
export function decodeState({ codes, scales }: Stored, signs: Signs): Tensor {
  return codecs[codes.dtype as StateFormat].decode({ codes, scales: scales as Tensor }, signs);
}
