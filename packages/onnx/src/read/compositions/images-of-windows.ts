// ONNX's operators that put images together from what windows took of them.
import { tensor } from "@mp/core";
import { elementCount, windowExtent } from "@mp/core/graph";
import { cast, constant, convTranspose, expand, literal, pad, reshape, scatterElements } from "@mp/core/ops";
import type { ReadNode } from "../node/node-reader.js";
import { expectTable } from "../node/table-limit.js";
import { traced } from "../node/traced.js";

/** Columns that lie over each other are summed: what a transposed convolution with a kernel for each tap does. */
export const col2Im: ReadNode = (reader) => {
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
export const maxUnpool: ReadNode = (reader) => {
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
