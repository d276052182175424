import type { Tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import {
  concat,
  expand,
  pad,
  reshape,
  slice,
  split,
  squeeze,
  tile,
  transpose,
  unsqueeze,
} from "@mp/core/ops";
import { type GradientRows, sample, spread } from "../gradient-sample.js";
import { of1, of2 } from "./of-operands.js";

export const movementGradients: GradientRows<OpOf<"movement">> = {
  Reshape: [
    sample(
      "matrix",
      of1((x) => reshape(x, [4, 3])),
      spread([3, 4]),
    ),
  ],
  Transpose: [
    sample(
      "matrix",
      of1((x) => transpose(x)),
      spread([3, 4]),
    ),
    sample(
      "permuted",
      of1((x) => transpose(x, [2, 0, 1])),
      spread([2, 3, 4]),
    ),
  ],
  Slice: [
    sample(
      "part",
      of1((x) => slice(x, [{ axis: 1, start: 1, end: 3 }])),
      spread([3, 4]),
    ),
    sample(
      "every-second",
      of1((x) => slice(x, [{ axis: 0, step: 2 }])),
      spread([5, 2]),
    ),
    sample(
      "backwards",
      of1((x) => slice(x, [{ axis: 0, step: -2 }])),
      spread([5, 2]),
    ),
  ],
  Concat: [
    sample(
      "two",
      of2((a, b) => concat([a, b], 1)),
      spread([2, 3]),
      spread([2, 1], 1),
    ),
    sample(
      "one-value-twice",
      of1((x) => concat([x, x], 0)),
      spread([2, 3]),
    ),
  ],
  Split: [
    sample(
      "all-parts",
      of1((x) => concat([...split(x, [1, 3], 1)].reverse(), 1)),
      spread([2, 4]),
    ),
    sample(
      "one-part-unused",
      of1((x) => split(x, 2, 1)[1] as Tensor),
      spread([2, 4]),
    ),
  ],
  Expand: [
    sample(
      "rows",
      of1((x) => expand(x, [3, 4])),
      spread([4]),
    ),
    sample(
      "a-scalar",
      of1((x) => expand(x, [2, 3])),
      spread([]),
    ),
  ],
  Squeeze: [
    sample(
      "matrix",
      of1((x) => squeeze(x, [0])),
      spread([1, 4]),
    ),
  ],
  Unsqueeze: [
    sample(
      "vector",
      of1((x) => unsqueeze(x, [0, 2])),
      spread([4]),
    ),
  ],
  Pad: [
    sample(
      "constant",
      of1((x) =>
        pad(x, [
          [1, 0],
          [0, 2],
        ]),
      ),
      spread([2, 3]),
    ),
    sample(
      "reflect",
      of1((x) => pad(x, [[2, 1]], { mode: "reflect" })),
      spread([4]),
    ),
    sample(
      "edge",
      of1((x) => pad(x, [[2, 1]], { mode: "edge" })),
      spread([3]),
    ),
  ],
  Tile: [
    sample(
      "matrix",
      of1((x) => tile(x, [2, 3])),
      spread([2, 2]),
    ),
  ],
};
