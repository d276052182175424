/**
 * Normalization of each example by itself, over groups of channels or over each channel. Both functions call batch
 * normalization with a batch of size 1, whose channels are the groups of all examples, so they use its f32 statistics
 * and kernels.
 */
import { invalid, shapeMismatch } from "../../errors.js";
import { full } from "../../host/host-tensor.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { elementCount, formatShape, type Shape } from "../../shape.js";
import { asTensor } from "../emit.js";
import type { Tensor } from "../tensor.js";
import {
  type BatchNormalizationOptions,
  batchNormalization,
  expectPerChannel,
} from "./batch-normalization.js";
import { add, mul } from "./binary.js";
import { expand, reshape } from "./movement.js";
import { constant } from "./source.js";
import { cast } from "./unary.js";

export interface GroupNormalizationOptions extends BatchNormalizationOptions {
  /** Must divide the number of channels. */
  readonly numGroups: number;
}

const GROUP: OptionNames<GroupNormalizationOptions> = { numGroups: true, epsilon: true };
const INSTANCE: OptionNames<BatchNormalizationOptions> = { epsilon: true };

function expectChannels(what: string, x: Tensor, parts: Readonly<Record<string, Tensor>>): Shape {
  const { shape } = asTensor(x, what);
  if (shape.length < 2) throw shapeMismatch(`${what}: x must be [N, C, …], got ${formatShape(shape)}`);
  expectPerChannel(what, shape, parts);
  return shape;
}

/**
 * Group normalization (Wu and He, arXiv 1803.08494) as in ONNX since opset 21. Each group of channels of an example
 * is normalized by its own statistics, then scaled and shifted per channel. scale and bias are [C].
 * @throws MP_INVALID_ARGUMENT for groups that do not divide the channels or an epsilon below 0, MP_SHAPE_MISMATCH
 */
export function groupNormalization(
  x: Tensor,
  scale: Tensor,
  bias: Tensor,
  options: GroupNormalizationOptions,
): Tensor {
  checkOptions("GroupNormalization", options, GROUP, "{ numGroups: 8 }");
  const shape = expectChannels("GroupNormalization", x, { scale, bias });
  const { numGroups, ...rest } = options;
  const [batch = 0, channels = 0, ...sizes] = shape;
  if (!Number.isSafeInteger(numGroups) || numGroups < 1 || channels % numGroups !== 0) {
    throw invalid(`GroupNormalization: numGroups divides the ${channels} channels, got ${numGroups}`);
  }
  const groups = batch * numGroups;
  const rows = reshape(x, [1, groups, (elementCount(sizes, "GroupNormalization") * channels) / numGroups]);
  const [one, zero] = [1, 0].map((value) => constant(full([groups], value))) as [Tensor, Tensor];
  const normalized = reshape(batchNormalization(rows, one, zero, rest).y, shape);
  const each = (part: Tensor): Tensor => reshape(part, [channels, ...sizes.map(() => 1)]);
  return cast(add(mul(normalized, each(scale)), each(bias)), x.dtype);
}

/**
 * Normalizes each channel of each example by its own statistics. scale and bias are [C].
 * @throws MP_INVALID_ARGUMENT for an epsilon below 0, MP_SHAPE_MISMATCH
 */
export function instanceNormalization(
  x: Tensor,
  scale: Tensor,
  bias: Tensor,
  options: BatchNormalizationOptions = {},
): Tensor {
  checkOptions("InstanceNormalization", options, INSTANCE, "{ epsilon: 1e-6 }");
  const shape = expectChannels("InstanceNormalization", x, { scale, bias });
  const [batch = 0, channels = 0, ...sizes] = shape;
  const each = (part: Tensor): Tensor => reshape(expand(part, [batch, channels]), [batch * channels]);
  const rows = reshape(x, [1, batch * channels, ...sizes]);
  return reshape(batchNormalization(rows, each(scale), each(bias), options).y, shape);
}
