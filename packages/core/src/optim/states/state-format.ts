/** The storage of a tensor of an optimizer's state: its format, and how values in f32 become that and back. */
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

/** The dtypes that a state may be stored in, and so the names of the formats. */
export const STATE_FORMATS = ["f32", "bf16", "f16", "f8e4m3", "u8"] as const;
export type StateFormat = (typeof STATE_FORMATS)[number];

/** A stored tensor: values or codes in its shape, and the f32 scales that they are multiplied by. */
export interface Stored {
  readonly codes: Tensor;
  readonly scales?: Tensor | undefined;
}

export const isStateFormat = (dtype: DType): dtype is StateFormat =>
  (STATE_FORMATS as readonly DType[]).includes(dtype);

/** The scales of a format, as a run writes them. */
interface Scales {
  /** The ending of their names, after that of their slot, by the signs of the values. */
  readonly suffix: Readonly<Record<Signs, string>>;
  /** The shape of the scales of a tensor. */
  shapeOf(elements: number): Shape;
  readonly bounds: readonly [smallest: number, largest: number];
}

interface Codec {
  readonly scales: Scales | undefined;
  /** Values in f32, rounded to nearest without a key. */
  encode(x: Tensor, signs: Signs, key: Key | undefined): Stored;
  decode(stored: { readonly codes: Tensor; readonly scales: Tensor }, signs: Signs): Tensor;
}

/** Number of elements of "u8", in row-major order, that share a scale. */
const BLOCK = 256;

/** A scale is at least this, so that it has a reciprocal on engines without subnormals. */
const SMALLEST_SCALE = 2 ** -120;

/** One scale for a tensor, with which its largest magnitude becomes `place`: below the end of the format. */
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

/** The elements in rows of a block, the last one filled up with 0. */
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

/** The scales of a format; undefined for one without. */
export const formatScales = (format: StateFormat): Scales | undefined => codecs[format].scales;

/** Stores values (f32) in a format, rounded to nearest, or stochastically by the numbers of a key. */
export const encodeState = (x: Tensor, format: StateFormat, signs: Signs, key?: Key): Stored =>
  codecs[format].encode(x, signs, key);

/** The values of a stored tensor, f32. Its dtype is the name of its format. */
export function decodeState({ codes, scales }: Stored, signs: Signs): Tensor {
  return codecs[codes.dtype as StateFormat].decode({ codes, scales: scales as Tensor }, signs);
}
