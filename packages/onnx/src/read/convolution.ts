import {
  halvedPads,
  type KernelWindow,
  type OpOf,
  type Shape,
  samePads,
  type Value,
  windowExtent,
} from "@mp/graph";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

export const AUTO_PADS = ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"] as const;

/** The end of the axis that gets the larger pad where the total padding is odd. */
export const oddSide = (auto: (typeof AUTO_PADS)[number]): "begin" | "end" =>
  auto === "SAME_UPPER" ? "end" : "begin";

interface ReadConvolution {
  readonly operands: readonly Value[];
  /** Sizes of the spatial axes of x. */
  readonly sizes: Shape;
  readonly kernel: Shape;
  readonly group: number;
  readonly window: KernelWindow;
  readonly auto: (typeof AUTO_PADS)[number];
}

/** Reads the operands and attributes of a convolution and fills in defaults. */
function readConvolution(reader: NodeReader): ReadConvolution {
  const operands = reader.operands(2, 3);
  const [sizes = [], kernel = []] = operands.map(({ shape }) => shape.slice(2));
  const declared = reader.ints("kernel_shape");
  if (declared !== undefined && declared.join() !== kernel.join()) {
    return reader.unsupported(`has a kernel_shape of [${declared}] and kernels of [${kernel}]`);
  }
  const auto = reader.choice("auto_pad", AUTO_PADS, "pads by");
  const none = new Array<number>(2 * sizes.length).fill(0);
  const ones = sizes.map(() => 1);
  const window = {
    strides: reader.ints("strides") ?? ones,
    pads: (auto === "NOTSET" ? reader.ints("pads") : undefined) ?? none,
    dilations: reader.ints("dilations") ?? ones,
  };
  return { operands, sizes, kernel, group: reader.int("group", 1), window, auto };
}

const isSame = (auto: ReadConvolution["auto"]): boolean => auto === "SAME_UPPER" || auto === "SAME_LOWER";

function transposedPads(
  reader: NodeReader,
  { sizes, kernel, window, auto }: ReadConvolution,
  outputPadding: readonly number[],
): readonly number[] {
  const wanted = reader.ints("output_shape")?.slice(-sizes.length);
  if (wanted === undefined && !isSame(auto)) return window.pads;
  const totals = sizes.map((size, axis) => {
    const [taps = 1, stride = 1, dilation = 1] = [kernel[axis], window.strides[axis], window.dilations[axis]];
    const reached = (size - 1) * stride + windowExtent(taps, dilation) + (outputPadding[axis] ?? 0);
    return reached - (wanted?.[axis] ?? size * stride);
  });
  return halvedPads(totals, oddSide(auto));
}

export const convolutionReaders: ReaderTable<OpOf<"convolution">> = {
  Conv: (reader) => {
    const { operands, window, group, sizes, kernel, auto } = readConvolution(reader);
    const pads = isSame(auto) ? samePads(sizes, kernel, window, oddSide(auto)) : window.pads;
    return [reader.emitOne("Conv", operands, { ...window, pads, group })];
  },
  ConvTranspose: (reader) => {
    const node = readConvolution(reader);
    const { operands, window, group, sizes } = node;
    const outputPadding = reader.ints("output_padding") ?? sizes.map(() => 0);
    const pads = transposedPads(reader, node, outputPadding);
    return [reader.emitOne("ConvTranspose", operands, { ...window, pads, group, outputPadding })];
  },
  ConvWeightGradient: (reader) => [
    reader.emitOne("ConvWeightGradient", reader.operands(2), {
      strides: reader.ints("strides") ?? [],
      pads: reader.ints("pads") ?? [],
      dilations: reader.ints("dilations") ?? [],
      group: reader.int("group"),
      kernelShape: reader.ints("kernel_shape") ?? [],
    }),
  ],
};
