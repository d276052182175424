/** Operators of ONNX that many lowerings write. */
import type { OpAttributes, Shape } from "@mp/graph";
import { int, ints, type NodeWriter, type OnnxAttributes } from "@mp/onnx/write";

/** The number of elements of a shape. */
export const product = (shape: Shape): number => shape.reduce((result, size) => result * size, 1);

/** The integers from 0 to `size` - 1. */
export const upTo = (size: number): readonly number[] => Array.from({ length: size }, (_, index) => index);

export function reshape(name: string, shape: Shape, writer: NodeWriter): string {
  return writer.one("Reshape", [name, writer.ints(shape)]);
}

export function transpose(name: string, perm: readonly number[], writer: NodeWriter): string {
  return writer.one("Transpose", [name], { perm: ints(perm) });
}

/** Reverses an axis. */
export function reverse(name: string, axis: number, size: number, writer: NodeWriter): string {
  if (size === 1) return name;
  const bounds = [size - 1, -size - 1, axis, -1].map((number) => writer.ints([number]));
  return writer.one("Slice", [name, ...bounds]);
}

/** Sorts keys. @returns the first `count` sorted keys and their original positions, i64 */
export function sort(
  keys: string,
  count: number,
  { axis, largest }: { readonly axis: number; readonly largest: boolean },
  writer: NodeWriter,
): readonly [values: string, places: string] {
  const attributes = { axis: int(axis), largest: int(largest ? 1 : 0), sorted: int(1) };
  const results = writer.emit("TopK", [keys, writer.ints([count])], attributes, { outputs: 2 });
  return results as readonly [string, string];
}

/** The attributes of a convolution with kernels of that shape. */
export const convAttributes = (
  kernel: Shape,
  { strides, pads, dilations, group }: OpAttributes["Conv"],
): OnnxAttributes => ({
  kernel_shape: ints(kernel),
  strides: ints(strides),
  pads: ints(pads),
  dilations: ints(dilations),
  group: int(group),
});
