/**
 * ONNX's Resize over the spatial axes, composed of repetition, gathers and weighted means of two neighbors. Sizes are
 * static, so all indices and weights are constants of the graph.
 */
import { invalid, MpError, shapeMismatch } from "../../errors.js";
import { tensor } from "../../host/host-tensor.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { elementCount, formatShape } from "../../shape.js";
import { shown } from "../../shown.js";
import { asTensor } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { add, mul } from "./binary.js";
import { gather } from "./indexing.js";
import { expand, reshape } from "./movement.js";
import { constant } from "./source.js";
import { cast } from "./unary.js";
import { alongAxes } from "./window-options.js";

export type ResizeMode = "nearest" | "linear";
/** Maps an element of the result to a coordinate in x; the names are ONNX's. */
export type CoordinateMode = "half_pixel" | "asymmetric" | "align_corners";
export type NearestMode = "round_prefer_floor" | "round_prefer_ceil" | "floor" | "ceil";

export interface ResizeOptions {
  /** Sizes of the spatial axes, or one size for all. Give either `sizes` or `scales`. */
  readonly sizes?: number | readonly number[];
  /** Scale of each spatial axis; results have ⌊size · scale⌋ elements. */
  readonly scales?: number | readonly number[];
  /** Default `nearest`. `linear` interpolates over all spatial axes, as bilinear or trilinear modes do. */
  readonly mode?: ResizeMode;
  /** Default `half_pixel`. */
  readonly coordinates?: CoordinateMode;
  /** Which neighbor `nearest` takes; default `round_prefer_floor`. */
  readonly nearest?: NearestMode;
}

const RESIZE: OptionNames<ResizeOptions> = {
  sizes: true,
  scales: true,
  mode: true,
  coordinates: true,
  nearest: true,
};

/** Maximum size of one axis. Engines compute indices in f32, which holds all integers up to 2^24. */
const MAX_SIZE = 2 ** 24;

/** One axis, before and after resizing. */
interface Axis {
  readonly size: number;
  readonly resized: number;
  readonly scale: number;
}

const coordinateRules: Readonly<Record<CoordinateMode, (at: number, axis: Axis) => number>> = {
  half_pixel: (at, { scale }) => (at + 0.5) / scale - 0.5,
  asymmetric: (at, { scale }) => at / scale,
  align_corners: (at, { size, resized }) => (resized === 1 ? 0 : (at * (size - 1)) / (resized - 1)),
};

const roundings: Readonly<Record<NearestMode, (x: number) => number>> = {
  round_prefer_floor: (x) => Math.ceil(x - 0.5),
  round_prefer_ceil: (x) => Math.floor(x + 0.5),
  floor: Math.floor,
  ceil: Math.ceil,
};

/** @throws MP_UNSUPPORTED for a name that is not in the table, such as a mode that only ONNX has */
function choose<T>(what: string, table: Readonly<Record<string, T>>, name: string): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found !== undefined) return found;
  throw new MpError(
    "MP_UNSUPPORTED",
    `Resize: ${what} must be one of ${Object.keys(table).join(", ")}, got ${shown(name)}`,
  );
}

function readAxes(x: Tensor, { sizes, scales }: ResizeOptions): readonly Axis[] {
  const { shape } = asTensor(x, "Resize");
  const spatial = shape.slice(2);
  if (spatial.length === 0) throw shapeMismatch(`Resize: x must be [N, C, d…], got ${formatShape(shape)}`);
  if ((sizes === undefined) === (scales === undefined)) throw invalid("Resize: takes either sizes or scales");
  const name = sizes === undefined ? "scales" : "sizes";
  const each = alongAxes("Resize", name, sizes ?? scales, spatial.length);
  const axes = spatial.map((size, axis) => {
    const value = each[axis] ?? Number.NaN;
    return sizes === undefined
      ? { size, resized: Math.floor(size * value), scale: value }
      : { size, resized: value, scale: value / size };
  });
  const isRight = axes.every(
    ({ resized }) => Number.isSafeInteger(resized) && resized >= 1 && resized <= MAX_SIZE,
  );
  if (each.length !== spatial.length || !isRight) {
    throw invalid(
      `Resize: ${name} give each of ${formatShape(spatial)} 1 to ${MAX_SIZE} elements, got ${shown(each)}`,
    );
  }
  elementCount([...shape.slice(0, 2), ...axes.map(({ resized }) => resized)], "Resize");
  return axes;
}

const within = (coordinate: number, size: number): number => Math.min(Math.max(coordinate, 0), size - 1);

function lookUp(x: Tensor, axis: number, indices: readonly number[]): Tensor {
  return gather(x, constant(tensor(Int32Array.from(indices))), axis);
}

/** Gathers elements. If the indices are 0, 1, …, each repeated equally often, repeats elements instead. */
function takeIndices(x: Tensor, axis: number, indices: readonly number[]): Tensor {
  const { shape } = x;
  const size = shape[axis] ?? 0;
  const times = indices.length / size;
  if (times === 1 && indices.every((index, at) => index === at)) return x;
  if (!Number.isInteger(times) || indices.some((index, at) => index !== Math.floor(at / times)))
    return lookUp(x, axis, indices);
  const [before, after] = [shape.slice(0, axis + 1), shape.slice(axis + 1)];
  const repeated = expand(reshape(x, [...before, 1, ...after]), [...before, times, ...after]);
  return reshape(repeated, [...shape.slice(0, axis), indices.length, ...after]);
}

/** The mean of the two neighbors of each coordinate, weighted by distance; coordinates are clamped at the edges. */
function interpolate(x: Tensor, axis: number, at: readonly number[]): Tensor {
  const size = x.shape[axis] ?? 0;
  if (at.length === size && at.every((coordinate, index) => coordinate === index)) return x;
  const floors = at.map(Math.floor);
  const column = [at.length, ...x.shape.slice(axis + 1).map(() => 1)];
  const neighbor = (offset: number, weights: readonly number[]): Tensor => {
    const indices = floors.map((floor) => within(floor + offset, size));
    return mul(lookUp(x, axis, indices), constant(tensor(Float32Array.from(weights), column)));
  };
  const shares = at.map((coordinate, index) => coordinate - (floors[index] ?? 0));
  return add(
    neighbor(
      0,
      shares.map((share) => 1 - share),
    ),
    neighbor(1, shares),
  );
}

/**
 * Resizes the spatial axes of x [N, C, d…]. `linear` computes in f32.
 * @throws MP_UNSUPPORTED for an unknown mode, MP_INVALID_ARGUMENT for sizes below 1, MP_SHAPE_MISMATCH
 */
export function resize(x: Tensor, options: ResizeOptions): Tensor {
  checkOptions("Resize", options, RESIZE, "{ scales: 2 }");
  const { mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor" } = options;
  const coordinateOf = choose("coordinates", coordinateRules, coordinates);
  const round = choose("nearest", roundings, nearest);
  const along = choose(
    "mode",
    {
      nearest: (y: Tensor, axis: number, at: readonly number[]) =>
        takeIndices(
          y,
          axis,
          at.map((exact) => within(round(exact), y.shape[axis] ?? 1)),
        ),
      linear: interpolate,
    },
    mode,
  );
  const resized = readAxes(x, options).reduce((y, axis, index) => {
    const at = Array.from({ length: axis.resized }, (_, element) => coordinateOf(element, axis));
    return along(y, index + 2, at);
  }, x);
  return cast(resized, x.dtype);
}
