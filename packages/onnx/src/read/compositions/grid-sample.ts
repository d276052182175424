// ONNX's GridSample, which reads a picture at places that are data.
import type { Tensor } from "@mp/core";
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
} from "@mp/core/ops";
import { quote } from "../../problem.js";
import type { ReadNode } from "../node/node-reader.js";
import { traced } from "../node/traced.js";

type Sampling = "nearest" | "linear" | "cubic";
type Padding = "zeros" | "border" | "reflection";

const SAMPLINGS: Readonly<Record<string, Sampling>> = {
  nearest: "nearest",
  linear: "linear",
  bilinear: "linear",
  cubic: "cubic",
  bicubic: "cubic",
};
const PADDINGS: readonly Padding[] = ["zeros", "border", "reflection"];

interface Axis {
  readonly size: number;
  readonly alignsCorners: boolean;
  readonly padding: Padding;
}

/** One element of the axis that counts: where, and how much. */
interface Tap {
  readonly index: Tensor;
  readonly weight: Tensor;
}

/** The coefficient of Keys' cubic convolution, as in PyTorch. */
const CUBIC = -0.75;

const bordersOf = ({ size, alignsCorners }: Axis): readonly [number, number] =>
  alignsCorners ? [0, size - 1] : [-0.5, size - 0.5];

/** From -1 … 1 to the places of elements. */
const placesOf = (x: Tensor, { size, alignsCorners }: Axis): Tensor =>
  alignsCorners ? mul(add(x, 1), (size - 1) / 2) : div(sub(mul(add(x, 1), size), 1), 2);

/** Mirrored at the borders until it is between them. */
function reflected(x: Tensor, axis: Axis): Tensor {
  const [low, high] = bordersOf(axis);
  if (high === low) return mul(x, 0);
  const distance = abs(sub(x, low));
  const times = floor(div(distance, high - low));
  const rest = sub(distance, mul(times, high - low));
  const isEven = equal(sub(times, mul(floor(div(times, 2)), 2)), 0);
  return where(isEven, add(rest, low), sub(high, rest));
}

/** Places beyond the borders, as the padding says. */
function inside(x: Tensor, axis: Axis): Tensor {
  const { size, padding } = axis;
  // Farther than any tap reaches; more would not fit an index.
  if (padding === "zeros") return clip(x, { min: -4, max: size + 3 });
  const [low, high] = bordersOf(axis);
  const isOutside = or(less(x, low), greater(x, high));
  return where(isOutside, padding === "border" ? clip(x, { min: 0, max: size - 1 }) : reflected(x, axis), x);
}

/** The element at a place, an integer in f32, and whether it counts. */
function tap(at: Tensor, weight: Tensor, axis: Axis): Tap {
  const { size, padding } = axis;
  const place = padding === "reflection" ? reflected(at, axis) : at;
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

/** How to sample along one axis at those places. */
const tapsOf: Readonly<Record<Sampling, (x: Tensor, axis: Axis) => readonly Tap[]>> = {
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

/** All combinations of one tap of each axis. */
const combinations = (axes: readonly (readonly Tap[])[]): readonly (readonly Tap[])[] =>
  axes.reduce<readonly (readonly Tap[])[]>(
    (made, taps) => made.flatMap((each) => taps.map((one) => [...each, one])),
    [[]],
  );

export const gridSample: ReadNode = (reader) => {
  const [x, grid] = [reader.operand(0), reader.operand(1)];
  const [mode, padding] = [reader.string("mode", "linear"), reader.string("padding_mode", "zeros")];
  const sampling = SAMPLINGS[mode];
  const beyond = PADDINGS.find((known) => known === padding);
  const alignsCorners = reader.int("align_corners", 0) !== 0;
  if (sampling === undefined) return reader.unsupported(`samples by ${quote(mode)}`);
  if (beyond === undefined) return reader.unsupported(`pads by ${quote(padding)}`);
  const sizes = x.shape.slice(2);
  if (sizes.length < 1 || sizes.length > 3)
    return reader.unsupported(`samples along ${sizes.length} axes, here 1 to 3`);
  if (grid.shape.at(-1) !== sizes.length || grid.shape.length !== x.shape.length)
    return reader.unsupported(`samples [${x.shape}] at a grid of [${grid.shape}]`);
  return [
    traced(reader, [x, grid], (picture, places) => {
      const rank = sizes.length;
      // Channels last, so that an index takes all of them.
      const elements = transpose(picture, [0, ...sizes.map((_, axis) => axis + 2), 1]);
      const axes = sizes.map((size, axis) => {
        // A place lists the last axis first.
        const coordinate = squeeze(
          slice(places, [{ axis: rank + 1, start: rank - 1 - axis, end: rank - axis }]),
          [rank + 1],
        );
        const along: Axis = { size, alignsCorners, padding: beyond };
        return tapsOf[sampling](placesOf(cast(coordinate, "f32"), along), along);
      });
      const terms = combinations(axes).map((taps) => {
        const index = stack(
          taps.map((each) => each.index),
          rank + 1,
        );
        const weight = taps.map((each) => each.weight).reduce(mul);
        return mul(cast(gatherND(elements, index, 1), "f32"), reshape(weight, [...weight.shape, 1]));
      });
      const y = cast(terms.reduce(add), picture.dtype);
      return transpose(y, [0, rank + 1, ...sizes.map((_, axis) => axis + 1)]);
    }),
  ];
};
