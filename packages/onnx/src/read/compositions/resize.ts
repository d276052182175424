// ONNX's Resize and Upsample: by the op `resize` where it suffices, otherwise by products with the weights of
// each axis.
import { isFloat, type Tensor, tensor } from "@mp/graph";
import {
  add,
  type CoordinateMode,
  cast,
  constant,
  matMul,
  type NearestMode,
  type ResizeMode,
  resize,
  transpose,
} from "@mp/graph/ops";
import { toNumbers } from "../../numbers.js";
import { quote } from "../../problem.js";
import type { NodeReader, ReadNode } from "../node/node-reader.js";
import {
  axisWeights,
  COORDINATES,
  type Interpolation,
  KERNELS,
  type ResizedAxis,
  ROUNDINGS,
} from "./resize-weights.js";

interface Target {
  /** How each resized axis changes, by the index of the axis. */
  readonly axes: ReadonlyMap<number, ResizedAxis>;
  /** The sizes or scales in the node. */
  readonly given: { readonly sizes?: readonly number[]; readonly scales?: readonly number[] };
}

/** The common scale of all resized axes, by the policy that keeps their aspect ratio. */
const ratios: Readonly<Record<string, (scales: readonly number[]) => number>> = {
  not_larger: (scales) => Math.min(...scales),
  not_smaller: (scales) => Math.max(...scales),
};

function readTarget(reader: NodeReader): Target {
  const { shape } = reader.type(0);
  const named = reader.ints("axes") ?? shape.map((_, axis) => axis);
  const axes = named.map((axis) => reader.fromFront(axis, shape.length));
  const part = reader.peek(1);
  const region = part === undefined ? [] : toNumbers(part);
  const sizes = reader.integers(3);
  const scales = sizes === undefined ? reader.constant(2) : undefined;
  const numbers = sizes ?? toNumbers(scales ?? reader.unsupported("has neither sizes nor scales"));
  const policy = reader.string("keep_aspect_ratio_policy", "stretch");
  if (numbers.length !== axes.length || numbers.some((number) => !(number > 0)))
    return reader.unsupported(`resizes ${axes.length} axes by [${numbers.join(", ")}]`);
  const own = axes.map((axis, index) => {
    const number = numbers[index] as number;
    return sizes === undefined ? number : number / (shape[axis] as number);
  });
  if (policy !== "stretch" && !Object.hasOwn(ratios, policy))
    return reader.unsupported(`keeps the ratio of its sides by ${quote(policy)}`);
  // A policy applies to sizes only: scales are used as they are.
  const ratio = sizes === undefined ? undefined : ratios[policy];
  const common = ratio?.(own);
  const resized = axes.map((axis, index): readonly [number, ResizedAxis] => {
    const size = shape[axis] as number;
    const scale = common ?? (own[index] as number);
    const length =
      common === undefined ? (sizes?.[index] ?? Math.floor(scale * size)) : Math.floor(scale * size + 0.5);
    const bounds = [region[index] ?? 0, region[axes.length + index] ?? 1] as const;
    return [axis, { size, resized: length, scale, region: bounds }];
  });
  return { axes: new Map(resized), given: sizes === undefined ? { scales: numbers } : { sizes: numbers } };
}

/** Whether the graph's op `resize` can express the node: all spatial axes, in a mode that the op has. */
function isPlain(reader: NodeReader, { axes }: Target, how: Interpolation): boolean {
  const isOne =
    how.coordinates === "pytorch_half_pixel" &&
    [...axes].some(([axis, { resized }]) => axis > 1 && resized === 1);
  const isUnchanged = [0, 1].every((axis) => axes.get(axis)?.scale === 1);
  return (
    !reader.hasAttribute("axes") &&
    reader.string("keep_aspect_ratio_policy", "stretch") === "stretch" &&
    !how.isSmoothed &&
    !how.excludesOutside &&
    how.kernel !== "cubic" &&
    how.coordinates !== "half_pixel_symmetric" &&
    how.coordinates !== "tf_crop_and_resize" &&
    !isOne &&
    isUnchanged
  );
}

/** Resizes one axis by a product with weights; results positioned outside of the operand are `beyond`. */
function along(x: Tensor, axis: number, resized: ResizedAxis, how: Interpolation, beyond: number): Tensor {
  const { size, resized: length } = resized;
  const { weights, isOutside } = axisWeights(resized, how);
  const perm = x.shape.map((_, each) => (each === axis ? x.shape.length - 1 : each));
  perm[x.shape.length - 1] = axis;
  const product = matMul(transpose(x, perm), constant(tensor(weights, [size, length])));
  const values = Float32Array.from(isOutside, (outside) => (outside ? beyond : 0));
  const whole = isOutside.includes(true) && beyond !== 0 ? add(product, constant(tensor(values))) : product;
  return transpose(whole, perm);
}

const isChanged = (
  { size, resized, scale, region: [start, end] }: ResizedAxis,
  how: Interpolation,
): boolean =>
  resized !== size || scale !== 1 || (how.coordinates === "tf_crop_and_resize" && (start !== 0 || end !== 1));

function byWeights(reader: NodeReader, { axes }: Target, how: Interpolation): ReturnType<ReadNode> {
  const beyond = reader.float("extrapolation_value", 0);
  const x = reader.operand(0);
  if (!isFloat(x.dtype) && how.kernel !== "nearest")
    return reader.unsupported(`interpolates ${x.dtype}, here floats are`);
  const changed = [...axes].filter(([, axis]) => isChanged(axis, how));
  for (const [, { size, resized: length }] of changed) reader.expectTable(size, length);
  return reader.compose([x], (given) => {
    const wide = cast(given, "f32");
    const y = changed.reduce((to, [axis, resized]) => along(to, axis, resized, how, beyond), wide);
    return cast(y, given.dtype);
  });
}

export const resizeImage: ReadNode = (reader) => {
  if (reader.version < 11) return reader.unsupported("is of a version that says nothing of coordinates");
  // Only one coordinate mode uses the region; this marks the operand as read in all.
  if (reader.isGiven(1)) reader.type(1);
  const how: Interpolation = {
    coordinates: reader.choice("coordinate_transformation_mode", COORDINATES),
    kernel: reader.choice("mode", KERNELS),
    rounding: reader.choice("nearest_mode", ROUNDINGS),
    coefficient: reader.float("cubic_coeff_a", -0.75),
    isSmoothed: reader.int("antialias", 0) !== 0,
    excludesOutside: reader.int("exclude_outside", 0) !== 0,
  };
  const target = readTarget(reader);
  reader.float("extrapolation_value", 0);
  if (how.coordinates === "tf_crop_and_resize" && reader.constant(1) === undefined)
    return reader.unsupported("crops to no region");
  if (!isPlain(reader, target, how)) return byWeights(reader, target, how);
  const { sizes, scales } = target.given;
  const behind = sizes === undefined ? { scales: (scales ?? []).slice(2) } : { sizes: sizes.slice(2) };
  const options = {
    ...behind,
    mode: how.kernel as ResizeMode,
    coordinates: (how.coordinates === "pytorch_half_pixel"
      ? "half_pixel"
      : how.coordinates) as CoordinateMode,
    nearest: how.rounding as NearestMode,
  };
  return reader.compose([reader.operand(0)], (x) => resize(x, options));
};
