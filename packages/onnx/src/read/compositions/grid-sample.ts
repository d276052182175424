// ONNX's GridSample, which samples a picture at positions that are data.
import type { Tensor } from "@mp/graph";
import {
  abs,
  add,
  and,
  cast,
  clip,
  div,
  equal,
  floor,
  gatherND,
  greater,
  greaterOrEqual,
  less,
  lessOrEqual,
  mul,
  or,
  reshape,
  round,
  slice,
  squeeze,
  stack,
  sub,
  transpose,
  where,
} from "@mp/graph/ops";
import { quote } from "../../problem.js";
import type { ReadNode } from "../node/node-reader.js";

type Sampling = "nearest" | "linear" | "cubic";
const PADDINGS = ["zeros", "border", "reflection"] as const;

const SAMPLINGS: Readonly<Record<string, Sampling>> = {
  nearest: "nearest",
  linear: "linear",
  bilinear: "linear",
  cubic: "cubic",
  bicubic: "cubic",
};

interface Axis {
  readonly size: number;
  readonly alignsCorners: boolean;
  readonly padding: (typeof PADDINGS)[number];
}

/** An element that contributes to a sample: its index along one axis, and its weight. */
type Tap = Readonly<Record<"index" | "weight", Tensor>>;

/** The coefficient of Keys' cubic convolution kernel, as in PyTorch. */
const CUBIC = -0.75;

const borders = ({ size, alignsCorners }: Axis): readonly [number, number] =>
  alignsCorners ? [0, size - 1] : [-0.5, size - 0.5];

/** Maps coordinates in [-1, 1] to positions along an axis, in units of elements. */
const toElements = (x: Tensor, { size, alignsCorners }: Axis): Tensor =>
  alignsCorners ? mul(add(x, 1), (size - 1) / 2) : div(sub(mul(add(x, 1), size), 1), 2);

/** Reflects positions at the two borders until they lie between the borders. */
function reflect(x: Tensor, axis: Axis): Tensor {
  const [low, high] = borders(axis);
  if (high === low) return mul(x, 0);
  const distance = abs(sub(x, low));
  const times = floor(div(distance, high - low));
  const rest = sub(distance, mul(times, high - low));
  const isEven = equal(sub(times, mul(floor(div(times, 2)), 2)), 0);
  return where(isEven, add(rest, low), sub(high, rest));
}

/** Moves positions beyond the borders as the padding mode requires. */
function inside(x: Tensor, axis: Axis): Tensor {
  const { size, padding } = axis;
  // Beyond the reach of any tap; larger positions would not fit an index.
  if (padding === "zeros") return clip(x, { min: -4, max: size + 3 });
  const [low, high] = borders(axis);
  const isOutside = or(less(x, low), greater(x, high));
  return where(isOutside, padding === "border" ? clip(x, { min: 0, max: size - 1 }) : reflect(x, axis), x);
}

/** Makes the tap at `at`, an integer in f32; with zero padding, its weight is 0 outside of the axis. */
function tap(at: Tensor, weight: Tensor, axis: Axis): Tap {
  const { size, padding } = axis;
  const place = padding === "reflection" ? reflect(at, axis) : at;
  const index = cast(clip(place, { min: 0, max: size - 1 }), "i32");
  if (padding !== "zeros") return { index, weight };
  const counts = and(greaterOrEqual(at, 0), lessOrEqual(at, size - 1));
  return { index, weight: where(counts, weight, 0) };
}

function cubicWeights(t: Tensor): readonly Tensor[] {
  const far = (d: Tensor): Tensor =>
    sub(mul(add(mul(sub(mul(d, CUBIC), 5 * CUBIC), d), 8 * CUBIC), d), 4 * CUBIC);
  const near = (d: Tensor): Tensor => add(mul(mul(sub(mul(d, CUBIC + 2), CUBIC + 3), d), d), 1);
  const other = sub(1, t);
  return [far(add(t, 1)), near(t), near(other), far(add(other, 1))];
}

/** Makes the taps along one axis for samples at positions x, by interpolation mode. */
const taps: Readonly<Record<Sampling, (x: Tensor, axis: Axis) => readonly Tap[]>> = {
  nearest: (x, axis) => {
    const at = inside(round(x), axis);
    return [tap(axis.padding === "reflection" ? floor(at) : at, add(mul(at, 0), 1), axis)];
  },
  linear: (x, axis) => {
    const at = inside(x, axis);
    const first = floor(at);
    const t = sub(at, first);
    return [tap(first, sub(1, t), axis), tap(add(first, 1), t, axis)];
  },
  cubic: (x, axis) => {
    const at = inside(x, axis);
    const first = floor(at);
    return cubicWeights(sub(at, first)).map((weight, index) => tap(add(first, index - 1), weight, axis));
  },
};

/** Lists all combinations of one tap per axis. */
const combinations = (axes: readonly (readonly Tap[])[]): readonly (readonly Tap[])[] =>
  axes.reduce<readonly (readonly Tap[])[]>(
    (made, taps) => made.flatMap((each) => taps.map((one) => [...each, one])),
    [[]],
  );

export const gridSample: ReadNode = (reader) => {
  const [x, grid] = [reader.operand(0), reader.operand(1)];
  const mode = reader.string("mode", "linear");
  const sampling = SAMPLINGS[mode];
  const alignsCorners = reader.int("align_corners", 0) !== 0;
  if (sampling === undefined) return reader.unsupported(`samples by ${quote(mode)}`);
  const padding = reader.choice("padding_mode", PADDINGS, "pads by");
  const sizes = x.shape.slice(2);
  if (sizes.length < 1 || sizes.length > 3)
    return reader.unsupported(`samples along ${sizes.length} axes, here 1 to 3`);
  if (grid.shape.at(-1) !== sizes.length || grid.shape.length !== x.shape.length)
    return reader.unsupported(`samples [${x.shape}] at a grid of [${grid.shape}]`);
  return reader.compose([x, grid], (picture, places) => {
    const rank = sizes.length;
    // Channels last, so that one index selects all channels.
    const elements = transpose(picture, [0, ...sizes.map((_, axis) => axis + 2), 1]);
    const axes = sizes.map((size, axis) => {
      // The coordinates of a position begin with the last axis.
      const at = { axis: rank + 1, start: rank - 1 - axis, end: rank - axis };
      const coordinate = squeeze(slice(places, [at]), [rank + 1]);
      const along: Axis = { size, alignsCorners, padding };
      return taps[sampling](toElements(cast(coordinate, "f32"), along), along);
    });
    const terms = combinations(axes).map((taps) => {
      const indices = taps.map(({ index }) => index);
      const weight = taps.map((each) => each.weight).reduce(mul);
      const read = gatherND(elements, stack(indices, rank + 1), 1);
      return mul(cast(read, "f32"), reshape(weight, [...weight.shape, 1]));
    });
    const y = cast(terms.reduce(add), picture.dtype);
    return transpose(y, [0, rank + 1, ...sizes.map((_, axis) => axis + 1)]);
  });
};
