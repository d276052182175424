import { int, type NodeWriter } from "@mp/onnx/write";

/** log(eˣ / Σ eˣ) of f32, as x - max - log Σ e^(x - max); kernels round max + log Σ e^(x - max) first. */
export function logSoftmax(x: string, axis: number, writer: NodeWriter): string {
  const along = writer.ints([axis]);
  const keepdims = { keepdims: int(1) };
  const below = writer.one("Sub", [x, writer.one("ReduceMax", [x, along], keepdims)]);
  const sum = writer.one("ReduceSum", [writer.one("Exp", [below]), along], keepdims);
  return writer.one("Sub", [below, writer.one("Log", [sum])]);
}
