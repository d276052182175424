// ONNX's operators that put elements elsewhere by what is known of them, or by indices that are made of data.
import { type Tensor, tensor } from "@mp/core";
import { elementCount } from "@mp/core/graph";
import {
  add,
  constant,
  expand,
  gather,
  gatherElements,
  less,
  mod,
  pad,
  range,
  reshape,
  scatterElements,
  slice,
  sub,
  where,
} from "@mp/core/ops";
import { numbersOf } from "../../numbers.js";
import { quote } from "../../problem.js";
import { axisOf } from "../node/axis.js";
import type { ReadNode } from "../node/node-reader.js";
import { traced } from "../node/traced.js";

/** The vector along one axis of a shape. */
const vectorAlong = (x: Tensor, shape: readonly number[], axis: number): Tensor =>
  expand(
    reshape(
      x,
      shape.map((size, each) => (each === axis ? size : 1)),
    ),
    shape,
  );

/** 0, 1, 2 … along one axis of a shape, i32. */
const placesAlong = (shape: readonly number[], axis: number): Tensor =>
  vectorAlong(range(0, shape[axis] as number), shape, axis);

/** The elements whose place a known condition marks; without an axis of the flattened tensor. */
const compress: ReadNode = (reader) => {
  const x = reader.operand(0);
  const condition = reader.constant(1) ?? reader.unsupported("has no condition");
  const marked = numbersOf(condition).flatMap((value, at) => (value === 0 ? [] : [at]));
  const isFlat = !reader.hasAttribute("axis");
  const axis = isFlat ? 0 : axisOf(reader, reader.int("axis"), x.shape.length);
  return [
    traced(reader, [x], (values) => {
      const all = isFlat ? reshape(values, [elementCount(x.shape, "Compress")]) : values;
      return gather(all, constant(tensor(Int32Array.from(marked))), axis);
    }),
  ];
};

/** The first elements of each row of a batch, as many as it says, the last first. */
const reverseSequence: ReadNode = (reader) => {
  const [x, lengths] = [reader.operand(0), reader.indices(1)];
  const [time, batch] = [reader.int("time_axis", 0), reader.int("batch_axis", 1)];
  const { shape } = x;
  if (time === batch || Math.max(time, batch) >= shape.length || Math.min(time, batch) < 0)
    return reader.unsupported(`reverses axis ${time} of [${shape}] by rows of axis ${batch}`);
  return [
    traced(reader, [x, lengths], (values, counts) => {
      const place = placesAlong(shape, time);
      const count = vectorAlong(counts, shape, batch);
      const index = where(less(place, count), sub(sub(count, 1), place), place);
      return gatherElements(values, index, time);
    }),
  ];
};

/** The middle, or with zeros around it; of an odd difference the end has one more. */
const centerCropPad: ReadNode = (reader) => {
  const x = reader.operand(0);
  const wanted = reader.integers(1) ?? reader.unsupported("has no shape");
  const axes =
    reader.ints("axes")?.map((axis) => axisOf(reader, axis, x.shape.length)) ??
    x.shape.map((_, axis) => axis);
  if (axes.length !== wanted.length)
    return reader.unsupported(`has ${wanted.length} sizes for ${axes.length} axes`);
  const sizes = x.shape.map((size, axis) => {
    const index = axes.indexOf(axis);
    return index < 0 ? size : (wanted[index] as number);
  });
  return [
    traced(reader, [x], (values) => {
      const cut = sizes.flatMap((size, axis) => {
        const extra = (x.shape[axis] as number) - size;
        const start = Math.floor(extra / 2);
        return extra > 0 ? [{ axis, start, end: start + size }] : [];
      });
      const pads = sizes.map((size, axis): [number, number] => {
        const missing = Math.max(0, size - (x.shape[axis] as number));
        return [Math.floor(missing / 2), Math.ceil(missing / 2)];
      });
      const cropped = cut.length === 0 ? values : slice(values, cut);
      return pads.every(([before, after]) => before + after === 0) ? cropped : pad(cropped, pads);
    }),
  ];
};

/** A cache of keys or values [batch, …] with new ones from an index of each row on, around the end where that is asked for. */
const tensorScatter: ReadNode = (reader) => {
  const [past, update] = [reader.operand(0), reader.operand(1)];
  const starts = reader.isGiven(2) ? [reader.indices(2)] : [];
  const axis = axisOf(reader, reader.int("axis", -2), past.shape.length);
  const mode = reader.string("mode", "linear");
  if (axis === 0 || (mode !== "linear" && mode !== "circular"))
    return reader.unsupported(`writes by ${quote(mode)} along axis ${axis}`);
  const { shape } = update;
  return [
    traced(reader, [past, update, ...starts], (cache: Tensor, values: Tensor, first?: Tensor) => {
      const place = placesAlong(shape, axis);
      const index = first === undefined ? place : add(place, vectorAlong(first, shape, 0));
      const within = mode === "circular" ? mod(index, past.shape[axis] as number) : index;
      return scatterElements(cache, within, values, { axis });
    }),
  ];
};

export const rearrangementReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  ["Compress", compress],
  ["ReverseSequence", reverseSequence],
  ["CenterCropPad", centerCropPad],
  ["TensorScatter", tensorScatter],
]);
