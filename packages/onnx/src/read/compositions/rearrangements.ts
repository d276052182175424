// ONNX's operators that put elements elsewhere by what is known of them, or by indices that are made of data.
import { type Tensor, tensor } from "@mp/core";
import { elementCount, windowExtent } from "@mp/core/graph";
import {
  add,
  cast,
  constant,
  convTranspose,
  expand,
  gather,
  gatherElements,
  less,
  literal,
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
import type { NodeReader, ReadNode } from "../node-reader.js";
import { axisOf } from "../reduce.js";
import { expectTable } from "../table-limit.js";
import { traced } from "../traced.js";

const indicesOf = (numbers: readonly number[]): Tensor => constant(tensor(Int32Array.from(numbers)));

/** 0, 1, 2 … along one axis of a shape, i32. */
function placesAlong(shape: readonly number[], axis: number): Tensor {
  const own = shape.map((size, each) => (each === axis ? size : 1));
  return expand(reshape(range(0, shape[axis] as number), own), shape);
}

/** The vector along one axis of a shape. */
const vectorAlong = (x: Tensor, shape: readonly number[], axis: number): Tensor =>
  expand(
    reshape(
      x,
      shape.map((size, each) => (each === axis ? size : 1)),
    ),
    shape,
  );

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
      return gather(all, indicesOf(marked), axis);
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

/** Columns that lie over each other are summed: what a transposed convolution with a kernel for each tap does. */
const col2Im: ReadNode = (reader) => {
  const x = reader.operand(0);
  const [image, block] = [reader.integers(1), reader.integers(2)];
  if (image === undefined || block === undefined)
    return reader.unsupported("has no shape of images or blocks");
  const rank = image.length;
  const each = (name: string, count: number, otherwise: number): readonly number[] =>
    reader.ints(name) ?? new Array<number>(count).fill(otherwise);
  const [dilations, strides, pads] = [
    each("dilations", rank, 1),
    each("strides", rank, 1),
    each("pads", 2 * rank, 0),
  ];
  const taps = block.reduce((product, size) => product * size, 1);
  expectTable(reader, taps, taps);
  const [batch = 0, rows = 0, columns = 0] = x.shape;
  const free = image.map(
    (size, axis) =>
      size +
      (pads[axis] ?? 0) +
      (pads[rank + axis] ?? 0) -
      windowExtent(block[axis] ?? 1, dilations[axis] ?? 1),
  );
  const blocks = free.map((size, axis) => Math.floor(size / (strides[axis] ?? 1)) + 1);
  const isWhole = blocks.reduce((product, size) => product * size, 1) === columns && rows % taps === 0;
  if (x.shape.length !== 3 || block.length !== rank || !isWhole)
    return reader.unsupported(`makes images of [${image}] from [${x.shape}] by blocks of [${block}]`);
  const channels = rows / taps;
  const outputPadding = free.map((size, axis) => size % (strides[axis] ?? 1));
  return [
    traced(reader, [x], (values) => {
      const kernels = Float32Array.from({ length: taps * taps }, (_, at) => (at % (taps + 1) === 0 ? 1 : 0));
      const kernel = cast(constant(tensor(kernels, [taps, 1, ...block])), x.dtype);
      const columnsOfTaps = reshape(values, [batch * channels, taps, ...blocks]);
      const images = convTranspose(columnsOfTaps, kernel, { strides, dilations, pads, outputPadding });
      return reshape(images, [batch, channels, ...image]);
    }),
  ];
};

/** Each value at its index of the flattened result, zeros elsewhere. */
const maxUnpool: ReadNode = (reader) => {
  const [x, at] = [reader.operand(0), reader.indices(1)];
  const kernel = reader.ints("kernel_shape") ?? reader.unsupported("has no kernel_shape");
  const strides = reader.ints("strides") ?? kernel.map(() => 1);
  const pads = reader.ints("pads") ?? [...kernel, ...kernel].map(() => 0);
  const own = kernel.map(
    (size, axis) =>
      ((x.shape[axis + 2] ?? 1) - 1) * (strides[axis] ?? 1) +
      size -
      (pads[axis] ?? 0) -
      (pads[kernel.length + axis] ?? 0),
  );
  const inferred = [...x.shape.slice(0, 2), ...own];
  const wanted = reader.integers(2) ?? inferred;
  if (wanted.length !== inferred.length || wanted.some((size, axis) => size < (inferred[axis] ?? 0)))
    return reader.unsupported(`makes [${wanted}] of [${inferred}]`);
  const count = elementCount(inferred, "MaxUnpool");
  return [
    traced(reader, [x, at], (values, indices) => {
      const flat = [elementCount(x.shape, "MaxUnpool")];
      const zeros = expand(literal(0, values.dtype), [count]);
      const placed = scatterElements(zeros, reshape(indices, flat), reshape(values, flat));
      const missing = wanted.map((size, axis): [number, number] => [0, size - (inferred[axis] as number)]);
      return pad(reshape(placed, inferred), missing);
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

/** As if the tensor were repeated on all sides. */
export function wrapped(
  reader: NodeReader,
  x: Parameters<typeof traced>[1][number],
  pads: readonly number[],
): ReturnType<ReadNode> {
  const rank = x.shape.length;
  expectTable(
    reader,
    ...x.shape.map((size, axis) => size + Math.abs(pads[axis] ?? 0) + Math.abs(pads[rank + axis] ?? 0)),
  );
  return [
    traced(reader, [x], (values) => {
      let y = values;
      x.shape.forEach((size, axis) => {
        const [before, after] = [pads[axis] as number, pads[rank + axis] as number];
        if (before === 0 && after === 0) return;
        const places = Array.from(
          { length: Math.max(0, size + before + after) },
          (_, at) => (((at - before) % size) + size) % size,
        );
        y = gather(y, indicesOf(places), axis);
      });
      return y;
    }),
  ];
}

export const rearrangementReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  ["Compress", compress],
  ["ReverseSequence", reverseSequence],
  ["CenterCropPad", centerCropPad],
  ["Col2Im", col2Im],
  ["MaxUnpool", maxUnpool],
  ["TensorScatter", tensorScatter],
]);
