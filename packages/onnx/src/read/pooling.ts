import { type OpOf, type PoolingWindow, samePads, windowExtent } from "@mp/graph";
import { AUTO_PADS, oddSide } from "./convolution.js";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

/** The pooling window for operand `index`, with padding as `auto_pad` says. */
export function poolingWindow(reader: NodeReader, index: number): PoolingWindow {
  const spatial = reader.type(index).shape.slice(2);
  const kernelShape = reader.ints("kernel_shape") ?? reader.unsupported("has no kernel_shape");
  const ones = spatial.map(() => 1);
  const strides = reader.ints("strides") ?? ones;
  const dilations = reader.ints("dilations") ?? ones;
  const given = reader.ints("pads") ?? [...spatial, ...spatial].map(() => 0);
  const ceilMode = reader.int("ceil_mode", 0) === 1;
  const auto = reader.choice("auto_pad", AUTO_PADS, "pads by");
  const window = { kernelShape, strides, pads: given, dilations, ceilMode };
  if (auto === "NOTSET") return window;
  if (auto === "VALID") {
    const isUneven = spatial.some((size, axis) => {
      const extent = windowExtent(kernelShape[axis] ?? 1, dilations[axis] ?? 1);
      return (size - extent) % (strides[axis] ?? 1) !== 0;
    });
    if (ceilMode && isUneven) {
      return reader.unsupported(
        "pads by VALID and rounds sizes up: ONNX's text and its engines differ there, give pads of 0 instead",
      );
    }
    return { ...window, pads: given.map(() => 0) };
  }
  return { ...window, ceilMode: false, pads: samePads(spatial, kernelShape, window, oddSide(auto)) };
}

export const poolingReaders: ReaderTable<OpOf<"pooling">> = {
  MaxPool: (reader) => {
    // `storage_order` says how the indices output counts, and that output is refused.
    reader.int("storage_order", 0);
    const x = reader.operand(0);
    const isByte = x.dtype === "u8";
    // f32 holds every u8 exactly.
    const wide = isByte ? reader.emitOne("Cast", [x], { to: "f32" }) : x;
    const pooled = reader.emitOne("MaxPool", [wide], poolingWindow(reader, 0));
    return [isByte ? reader.emitOne("Cast", [pooled], { to: "u8" }) : pooled];
  },
  AveragePool: (reader) => {
    const countIncludePad = reader.int("count_include_pad", 0) === 1;
    const window = poolingWindow(reader, 0);
    return [reader.emitOne("AveragePool", [reader.operand(0)], { ...window, countIncludePad })];
  },
  MaxPoolGradient: (reader) => [
    reader.emitOne("MaxPoolGradient", reader.operands(3), poolingWindow(reader, 1)),
  ],
};
