// ONNX's operators for pictures that are compositions of the graph's operators.
import {
  depthToSpace,
  globalAveragePool,
  globalMaxPool,
  groupNormalization,
  instanceNormalization,
  lrn,
  reshape,
  spaceToDepth,
  transpose,
} from "@mp/graph/ops";
import { resizeImage } from "./compositions/resize.js";
import { composition } from "./node/composition.js";
import type { NodeReader, ReadNode } from "./node/node-reader.js";
import { expectF32Statistics } from "./normalization.js";

const depthMode = (reader: NodeReader): "DCR" | "CRD" =>
  reader.choice("mode", ["DCR", "CRD"], "orders channels by");

export const imageReaders: Readonly<Record<string, ReadNode>> = {
  GlobalAveragePool: composition(1, (_reader, x) => globalAveragePool(x, { keepdims: true })),
  GlobalMaxPool: composition(1, (_reader, x) => globalMaxPool(x, { keepdims: true })),
  GroupNormalization: composition(3, (reader, x, scale, bias) => {
    if (reader.version < 21) return reader.unsupported("scales by group, as it did before version 21");
    expectF32Statistics(reader);
    const [numGroups, epsilon] = [reader.int("num_groups"), reader.float("epsilon", 1e-5)];
    return groupNormalization(x, scale, bias, { numGroups, epsilon });
  }),
  InstanceNormalization: composition(3, (reader, x, scale, bias) =>
    instanceNormalization(x, scale, bias, { epsilon: reader.float("epsilon", 1e-5) }),
  ),
  LRN: composition(1, (reader, x) =>
    lrn(x, {
      size: reader.int("size"),
      alpha: reader.float("alpha", 1e-4),
      beta: reader.float("beta", 0.75),
      bias: reader.float("bias", 1),
    }),
  ),
  DepthToSpace: composition(1, (reader, x) =>
    depthToSpace(x, reader.int("blocksize"), { mode: depthMode(reader) }),
  ),
  SpaceToDepth: composition(1, (reader, x) => {
    const block = reader.int("blocksize");
    const y = spaceToDepth(x, block);
    if (depthMode(reader) === "DCR") return y;
    const [batch = 1, channels = 1, ...sizes] = y.shape;
    const apart = reshape(y, [batch, block * block, channels / (block * block), ...sizes]);
    return reshape(transpose(apart, [0, 2, 1, 3, 4]), y.shape);
  }),
  Resize: resizeImage,
};
