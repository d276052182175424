// ONNX's operators for pictures that are functions of others in core.
import type { Tensor } from "@mp/core";
import {
  type DepthMode,
  depthToSpace,
  globalAveragePool,
  globalMaxPool,
  groupNormalization,
  instanceNormalization,
  lrn,
  reshape,
  spaceToDepth,
  transpose,
} from "@mp/core/ops";
import { quote } from "../problem.js";
import { resized } from "./compositions/resize.js";
import type { NodeReader, ReadNode } from "./node/node-reader.js";
import { traced } from "./node/traced.js";

/** A function of the first operand. */
const unary =
  (fn: (x: Tensor, reader: NodeReader) => Tensor): ReadNode =>
  (reader) => [traced(reader, [reader.operand(0)], (x) => fn(x, reader))];

/** A function of x, scale and bias. */
const normalization =
  (fn: (x: Tensor, scale: Tensor, bias: Tensor, reader: NodeReader) => Tensor): ReadNode =>
  (reader) => [
    traced(reader, [reader.operand(0), reader.operand(1), reader.operand(2)], (x, scale, bias) =>
      fn(x, scale, bias, reader),
    ),
  ];

export const imageReaders: ReadonlyMap<string, ReadNode> = new Map<string, ReadNode>([
  ["GlobalAveragePool", unary((x) => globalAveragePool(x, { keepdims: true }))],
  ["GlobalMaxPool", unary((x) => globalMaxPool(x, { keepdims: true }))],
  [
    "GroupNormalization",
    (reader) => {
      if (reader.version < 21) return reader.unsupported("scales by group, as it did before version 21");
      if (reader.int("stash_type", 1) !== 1)
        return reader.unsupported("computes its statistics in another type than f32");
      return normalization((x, scale, bias) =>
        groupNormalization(x, scale, bias, {
          numGroups: reader.int("num_groups"),
          epsilon: reader.float("epsilon", 1e-5),
        }),
      )(reader);
    },
  ],
  [
    "InstanceNormalization",
    normalization((x, scale, bias, reader) =>
      instanceNormalization(x, scale, bias, { epsilon: reader.float("epsilon", 1e-5) }),
    ),
  ],
  [
    "LRN",
    unary((x, reader) =>
      lrn(x, {
        size: reader.int("size"),
        alpha: reader.float("alpha", 1e-4),
        beta: reader.float("beta", 0.75),
        bias: reader.float("bias", 1),
      }),
    ),
  ],
  [
    "DepthToSpace",
    unary((x, reader) =>
      depthToSpace(x, reader.int("blocksize"), { mode: reader.string("mode", "DCR") as DepthMode }),
    ),
  ],
  [
    "SpaceToDepth",
    (reader) => {
      const mode = reader.string("mode", "DCR");
      if (mode !== "DCR" && mode !== "CRD") return reader.unsupported(`orders channels by ${quote(mode)}`);
      const block = reader.int("blocksize");
      return unary((x) => {
        const y = spaceToDepth(x, block);
        if (mode === "DCR") return y;
        const [batch = 1, channels = 1, ...sizes] = y.shape;
        const apart = reshape(y, [batch, block * block, channels / (block * block), ...sizes]);
        return reshape(transpose(apart, [0, 2, 1, 3, 4]), y.shape);
      })(reader);
    },
  ],
  ["Resize", resized],
]);
