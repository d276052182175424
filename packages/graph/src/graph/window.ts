// The positions of windows along an axis, shared by convolutions, pools, their gradients and file formats.
import type { Shape } from "../shape.js";

/** Extent of a window along an axis, from its first tap to its last, both included. */
export function windowExtent(taps: number, dilation: number): number {
  return (taps - 1) * dilation + 1;
}

/** Halves each total padding; returns all begins, then all ends. Of an odd total, the end named by `odd` gets more. */
export function halvedPads(totals: readonly number[], odd: "begin" | "end" = "end"): readonly number[] {
  const less = totals.map((total) => Math.floor(total / 2));
  const more = totals.map((total, axis) => total - (less[axis] ?? 0));
  return odd === "end" ? [...less, ...more] : [...more, ...less];
}

/**
 * The pads that give ⌈size / stride⌉ windows along each axis, as TensorFlow's SAME and ONNX's SAME_UPPER do; `odd:
 * "begin"` is ONNX's SAME_LOWER.
 */
export function samePads(
  sizes: Shape,
  kernel: Shape,
  window: { readonly strides: readonly number[]; readonly dilations: readonly number[] },
  odd?: "begin" | "end",
): readonly number[] {
  const totals = sizes.map((size, axis) => {
    const stride = window.strides[axis] ?? 1;
    const extent = windowExtent(kernel[axis] ?? 1, window.dilations[axis] ?? 1);
    return Math.max(0, (Math.ceil(size / stride) - 1) * stride + extent - size);
  });
  return halvedPads(totals, odd);
}
