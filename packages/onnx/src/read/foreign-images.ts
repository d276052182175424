// ONNX's operators for pictures that are functions of others in core.
import type { Tensor } from "@mp/core";
import {
  type CoordinateMode,
  type DepthMode,
  depthToSpace,
  globalAveragePool,
  globalMaxPool,
  groupNormalization,
  instanceNormalization,
  lrn,
  type NearestMode,
  type ResizeMode,
  type ResizeOptions,
  resize,
  spaceToDepth,
} from "@mp/core/ops";
import { numbersOf } from "../numbers.js";
import type { NodeReader, ReadNode } from "./node-reader.js";
import { traced } from "./traced.js";

/** A function of the first operand. */
const unary =
  (fn: (x: Tensor, reader: NodeReader) => Tensor): ReadNode =>
  (reader) => [traced(reader, [reader.operand(0)], (x) => fn(x, reader))];

/** A function of x, scale and bias. */
const normalization =
  (fn: (x: Tensor, scale: Tensor, bias: Tensor, reader: NodeReader) => Tensor): ReadNode =>
  (reader) => [
    traced(reader, [reader.operand(0), reader.operand(1), reader.operand(2)], (x, scale, bias) =>
      fn(x, scale, bias, reader),
    ),
  ];

/** The spatial axes; the channels stay unchanged. */
function spatial(
  reader: NodeReader,
  numbers: readonly number[],
  unchanged: readonly number[],
): readonly number[] {
  const rank = reader.typeOf(0).shape.length;
  if (numbers.length !== rank || numbers.some((number, axis) => axis < 2 && number !== unchanged[axis])) {
    return reader.unsupported(
      `resizes by [${numbers.join(", ")}], which is not over the axes behind the channels`,
    );
  }
  return numbers.slice(2);
}

/** Sizes or scales, as they are known now. */
function targetOf(reader: NodeReader): Pick<ResizeOptions, "sizes" | "scales"> {
  const { shape } = reader.typeOf(0);
  // A region of interest counts in a mode that is refused.
  if (reader.isGiven(1)) reader.typeOf(1);
  const sizes = reader.integers(3);
  if (sizes !== undefined) return { sizes: spatial(reader, sizes, shape) };
  const scales = reader.constant(2) ?? reader.unsupported("has neither sizes nor scales");
  return {
    scales: spatial(
      reader,
      numbersOf(scales),
      shape.map(() => 1),
    ),
  };
}

/** PyTorch's differs where one element is left, which then lies at 0. */
function coordinatesOf(reader: NodeReader, target: Pick<ResizeOptions, "sizes" | "scales">): CoordinateMode {
  const name = reader.string("coordinate_transformation_mode", "half_pixel");
  if (name !== "pytorch_half_pixel") return name as CoordinateMode;
  const sizes = reader.typeOf(0).shape.slice(2);
  const resized = (target.sizes ?? target.scales) as readonly number[];
  const isOne = resized.some((value, axis) =>
    target.sizes === undefined ? Math.floor((sizes[axis] ?? 1) * value) === 1 : value === 1,
  );
  return isOne ? reader.unsupported("makes one element in PyTorch's way") : "half_pixel";
}

const resized: ReadNode = (reader) => {
  if (reader.version < 11) return reader.unsupported("is of a version that says nothing of coordinates");
  if (reader.int("antialias", 0) !== 0) return reader.unsupported("smooths before it shrinks");
  if (reader.int("exclude_outside", 0) !== 0) return reader.unsupported("leaves out what is outside");
  if (reader.string("keep_aspect_ratio_policy", "stretch") !== "stretch")
    return reader.unsupported("keeps the ratio of its sides");
  if (reader.hasAttribute("axes")) return reader.unsupported("names its axes");
  const target = targetOf(reader);
  // Of other modes alone.
  reader.float("cubic_coeff_a", 0);
  reader.float("extrapolation_value", 0);
  const options = {
    ...target,
    mode: reader.string("mode", "nearest") as ResizeMode,
    coordinates: coordinatesOf(reader, target),
    nearest: reader.string("nearest_mode", "round_prefer_floor") as NearestMode,
  };
  return [traced(reader, [reader.operand(0)], (x) => resize(x, options))];
};

export const imageReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  ["GlobalAveragePool", unary((x) => globalAveragePool(x, { keepdims: true }))],
  ["GlobalMaxPool", unary((x) => globalMaxPool(x, { keepdims: true }))],
  [
    "GroupNormalization",
    (reader) => {
      if (reader.version < 21) return reader.unsupported("scales by group, as it did before version 21");
      if (reader.int("stash_type", 1) !== 1)
        return reader.unsupported("computes its statistics in another type than f32");
      return normalization((x, scale, bias) =>
        groupNormalization(x, scale, bias, {
          numGroups: reader.int("num_groups"),
          epsilon: reader.float("epsilon", 1e-5),
        }),
      )(reader);
    },
  ],
  [
    "InstanceNormalization",
    normalization((x, scale, bias, reader) =>
      instanceNormalization(x, scale, bias, { epsilon: reader.float("epsilon", 1e-5) }),
    ),
  ],
  [
    "LRN",
    unary((x, reader) =>
      lrn(x, {
        size: reader.int("size"),
        alpha: reader.float("alpha", 1e-4),
        beta: reader.float("beta", 0.75),
        bias: reader.float("bias", 1),
      }),
    ),
  ],
  [
    "DepthToSpace",
    unary((x, reader) =>
      depthToSpace(x, reader.int("blocksize"), { mode: reader.string("mode", "DCR") as DepthMode }),
    ),
  ],
  ["SpaceToDepth", unary((x, reader) => spaceToDepth(x, reader.int("blocksize")))],
  ["Resize", resized],
]);
