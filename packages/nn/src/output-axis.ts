import type { OutputAxis } from "@mp/core/optim";

/**
 * The output axis of kernels in this package's layers, for `muon`: 1 for [inputs, outputs], 0 for
 * convolutions, [outputs, inputs, k…]. For a transposed convolution, [inputs, outputs, k…], give 1 for its
 * path.
 */
export const outputAxis: OutputAxis = (_path, { shape }) => (shape.length === 2 ? 1 : 0);
