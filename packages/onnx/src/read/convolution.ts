import type { Shape } from "@mp/core";
import { halvedPads, type KernelWindow, type OpOf, samePads, type Value, windowExtent } from "@mp/core/graph";
import { quote } from "../problem.js";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

type Fill = "NOTSET" | "VALID" | "SAME_UPPER" | "SAME_LOWER";

const FILLS: readonly Fill[] = ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"];

interface Given {
  readonly operands: readonly Value[];
  /** Sizes of x. */
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

const isSame = (fill: Fill): boolean => fill === "SAME_UPPER" || fill === "SAME_LOWER";
const oddOf = (fill: Fill): "begin" | "end" => (fill === "SAME_UPPER" ? "end" : "begin");

function convPads({ sizes, kernel, window, fill }: Given): readonly number[] {
  return isSame(fill) ? samePads(sizes, kernel, window, oddOf(fill)) : window.pads;
}

function transposedPads(
  reader: NodeReader,
  { sizes, kernel, window, fill }: Given,
  outputPadding: readonly number[],
): readonly number[] {
  const wanted = reader.ints("output_shape")?.slice(-sizes.length);
  if (wanted === undefined && !isSame(fill)) return window.pads;
  const totals = sizes.map((size, axis) => {
    const [taps = 1, stride = 1, dilation = 1] = [kernel[axis], window.strides[axis], window.dilations[axis]];
    const reached = (size - 1) * stride + windowExtent(taps, dilation) + (outputPadding[axis] ?? 0);
    return reached - (wanted?.[axis] ?? size * stride);
  });
  return halvedPads(totals, oddOf(fill));
}

export const convolutionReaders: ReaderTable<OpOf<"convolution">> = {
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
