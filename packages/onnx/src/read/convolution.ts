import type { KernelWindow, Shape, Value } from "@mp/core";
import { quote } from "../problem.js";
import type { NodeReader, ReaderTable } from "./node-reader.js";

type Fill = "NOTSET" | "VALID" | "SAME_UPPER" | "SAME_LOWER";

const FILLS: readonly Fill[] = ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"];

interface Given {
  readonly operands: readonly Value[];
  /** Of x. */
  readonly sizes: Shape;
  readonly kernel: Shape;
  readonly group: number;
  readonly window: KernelWindow;
  readonly fill: Fill;
}

/** Attributes as the file has them, those that are left out at their defaults. */
function given(reader: NodeReader): Given {
  const [x, w, bias] = [reader.operand(0), reader.operand(1), reader.optional(2)];
  const sizes = x.shape.slice(2);
  const kernel = w.shape.slice(2);
  const declared = reader.ints("kernel_shape");
  if (declared !== undefined && declared.join() !== kernel.join()) {
    return reader.unsupported(`has a kernel_shape of [${declared}] and kernels of [${kernel}]`);
  }
  const name = reader.string("auto_pad", "NOTSET");
  const fill = FILLS.find((known) => known === name) ?? reader.unsupported(`pads by ${quote(name)}`);
  const each = (attribute: string, otherwise: number, count = sizes.length): readonly number[] =>
    reader.ints(attribute) ?? new Array<number>(count).fill(otherwise);
  return {
    operands: bias === undefined ? [x, w] : [x, w, bias],
    sizes,
    kernel,
    group: reader.int("group", 1),
    window: {
      strides: each("strides", 1),
      pads: fill === "NOTSET" ? each("pads", 0, 2 * sizes.length) : new Array(2 * sizes.length).fill(0),
      dilations: each("dilations", 1),
    },
    fill,
  };
}

const extents = ({ kernel, window: { dilations } }: Given): readonly number[] =>
  kernel.map((size, axis) => (size - 1) * (dilations[axis] ?? 1) + 1);

/** Pads of those sums, of which the end gets the odd one, or the begin. */
function halved(totals: readonly number[], isEndMore: boolean): readonly number[] {
  const less = totals.map((total) => Math.floor(total / 2));
  const more = totals.map((total, axis) => total - (less[axis] ?? 0));
  return isEndMore ? [...less, ...more] : [...more, ...less];
}

const isSame = (fill: Fill): boolean => fill === "SAME_UPPER" || fill === "SAME_LOWER";

function convPads(node: Given): readonly number[] {
  const { sizes, window, fill } = node;
  if (!isSame(fill)) return window.pads;
  const totals = extents(node).map((extent, axis) => {
    const [size, stride] = [sizes[axis] ?? 1, window.strides[axis] ?? 1];
    return Math.max(0, (Math.ceil(size / stride) - 1) * stride + extent - size);
  });
  return halved(totals, fill === "SAME_UPPER");
}

function transposedPads(
  reader: NodeReader,
  node: Given,
  outputPadding: readonly number[],
): readonly number[] {
  const { sizes, window, fill } = node;
  const wanted = reader.ints("output_shape")?.slice(-sizes.length);
  if (wanted === undefined && !isSame(fill)) return window.pads;
  const totals = extents(node).map((extent, axis) => {
    const [size, stride] = [sizes[axis] ?? 1, window.strides[axis] ?? 1];
    return (size - 1) * stride + extent + (outputPadding[axis] ?? 0) - (wanted?.[axis] ?? size * stride);
  });
  return halved(totals, fill === "SAME_UPPER");
}

export const convolutionReaders: ReaderTable<"Conv" | "ConvTranspose" | "ConvWeightGradient"> = {
  Conv: (reader) => {
    const node = given(reader);
    const { operands, window, group } = node;
    return [reader.emitOne("Conv", operands, { ...window, pads: convPads(node), group })];
  },
  ConvTranspose: (reader) => {
    const node = given(reader);
    const { operands, window, group, sizes } = node;
    const outputPadding = reader.ints("output_padding") ?? sizes.map(() => 0);
    const pads = transposedPads(reader, node, outputPadding);
    return [reader.emitOne("ConvTranspose", operands, { ...window, pads, group, outputPadding })];
  },
  ConvWeightGradient: (reader) => [
    reader.emitOne("ConvWeightGradient", [reader.operand(0), reader.operand(1)], {
      strides: reader.ints("strides") ?? [],
      pads: reader.ints("pads") ?? [],
      dilations: reader.ints("dilations") ?? [],
      group: reader.int("group"),
      kernelShape: reader.ints("kernel_shape") ?? [],
    }),
  ],
};
