import { type OpOf, type PoolingWindow, samePads, windowExtent } from "@mp/core/graph";
import { quote } from "../problem.js";
import type { NodeReader, ReaderTable } from "./node/node-reader.js";

/** The window of a pool over x; what `auto_pad` asks for is written out. */
export function windowOf(reader: NodeReader, index: number): PoolingWindow {
  const spatial = reader.typeOf(index).shape.slice(2);
  const kernelShape = reader.ints("kernel_shape") ?? reader.unsupported("has no kernel_shape");
  const ones = spatial.map(() => 1);
  const strides = reader.ints("strides") ?? ones;
  const dilations = reader.ints("dilations") ?? ones;
  const given = reader.ints("pads") ?? [...spatial, ...spatial].map(() => 0);
  const ceilMode = reader.int("ceil_mode", 0) === 1;
  const auto = reader.string("auto_pad", "NOTSET");
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
  if (auto !== "SAME_UPPER" && auto !== "SAME_LOWER") return reader.unsupported(`pads by ${quote(auto)}`);
  const odd = auto === "SAME_UPPER" ? "end" : "begin";
  return { ...window, ceilMode: false, pads: samePads(spatial, kernelShape, window, odd) };
}

export const poolingReaders: ReaderTable<OpOf<"pooling">> = {
  MaxPool: (reader) => {
    // Says how indices count, which are refused as an output.
    reader.int("storage_order", 0);
    const x = reader.operand(0);
    if (x.dtype !== "u8") return [reader.emitOne("MaxPool", [x], windowOf(reader, 0))];
    // f32 holds all of them.
    const pooled = reader.emitOne(
      "MaxPool",
      [reader.emitOne("Cast", [x], { to: "f32" })],
      windowOf(reader, 0),
    );
    return [reader.emitOne("Cast", [pooled], { to: "u8" })];
  },
  AveragePool: (reader) => {
    const countIncludePad = reader.int("count_include_pad", 0) === 1;
    const window = windowOf(reader, 0);
    return [reader.emitOne("AveragePool", [reader.operand(0)], { ...window, countIncludePad })];
  },
  MaxPoolGradient: (reader) => {
    const operands = [reader.operand(0), reader.operand(1), reader.operand(2)];
    return [reader.emitOne("MaxPoolGradient", operands, windowOf(reader, 1))];
  },
};
