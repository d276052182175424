/**
 * Five convolutions and three dense layers in the proportions of Krizhevsky et al. 2012, for small images: no batch
 * normalization, biases throughout, dropout before the dense layers.
 */
import type { Tensor } from "@mp/core";
import { maxPool, relu } from "@mp/core/ops";
import { asModel, convolution, dense, dropout, type Model, sequential } from "@mp/nn";
import { flatten, type ModelOptions } from "./parts.js";

/** Overlapping windows, as in the paper. */
const pool = (x: Tensor): Tensor => maxPool(x, 3, { strides: 2, pads: 1 });

export function alexNet({ channels, classes, size, width }: ModelOptions): Model {
  const side = Math.ceil(Math.ceil(Math.ceil(size / 2) / 2) / 2);
  const hidden = 32 * width;
  return asModel(
    sequential(
      convolution(channels, 2 * width, 5, { padding: "same" }),
      relu,
      pool,
      convolution(2 * width, 4 * width, 5, { padding: "same" }),
      relu,
      pool,
      convolution(4 * width, 6 * width, 3, { padding: "same" }),
      relu,
      convolution(6 * width, 6 * width, 3, { padding: "same" }),
      relu,
      convolution(6 * width, 4 * width, 3, { padding: "same" }),
      relu,
      pool,
      flatten,
      dropout(0.2),
      dense(4 * width * side * side, hidden),
      relu,
      dropout(0.2),
      dense(hidden, hidden),
      relu,
      dense(hidden, classes),
    ),
  );
}
