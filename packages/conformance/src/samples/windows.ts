/** Windows whose strides, pads and dilations differ by axis, for convolutions and pools over one to three axes. */
import { type OpAttributes, type Shape, windowExtent } from "@mp/graph";

/** Choices for windows over some number of axes, the plain ones first. */
export interface Windows {
  readonly sizes: Shape;
  readonly kernels: readonly Shape[];
  readonly strides: readonly Shape[];
  readonly pads: readonly Shape[];
  readonly dilations: readonly Shape[];
}

// biome-ignore format: one list a line
export const WINDOWS: readonly Windows[] = [
  {
    sizes: [7, 9],
    kernels: [[2, 3], [3, 2], [3, 3], [1, 1]],
    strides: [[2, 2], [1, 1], [3, 1], [1, 2]],
    pads: [[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    dilations: [[1, 1], [2, 1], [1, 2], [3, 2]],
  },
  {
    sizes: [10],
    kernels: [[3], [2], [4], [1]],
    strides: [[3], [1], [5]],
    pads: [[1, 0], [0, 0], [0, 1], [2, 0]],
    dilations: [[1], [2], [3]],
  },
  {
    sizes: [4, 5, 6],
    kernels: [[2, 2, 2], [1, 2, 3], [3, 1, 2]],
    strides: [[2, 2, 2], [1, 2, 1], [2, 1, 3]],
    pads: [[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]],
    dilations: [[1, 1, 1], [2, 1, 1], [1, 2, 1], [1, 1, 2]],
  },
];

export const windowLists = ({
  strides,
  pads,
  dilations,
}: Windows): Pick<Windows, "strides" | "pads" | "dilations"> => ({ strides, pads, dilations });

export const fits = (sizes: Shape, kernel: Shape, { pads, dilations }: Placed): boolean =>
  sizes.every(
    (size, axis) =>
      windowExtent(kernel[axis] ?? 1, dilations[axis] ?? 1) <=
      size + (pads[axis] ?? 0) + (pads[axis + sizes.length] ?? 0),
  );

export const BATCH = 2;

export type Placed = Pick<OpAttributes["Conv"], "pads" | "dilations">;
