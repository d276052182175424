import { scope, type Tensor } from "@mp/core";
import { add, globalAveragePool, globalMaxPool, relu } from "@mp/core/ops";
import { checks } from "@mp/graph/internal";
import { dropout } from "../dropout.js";
import { type FieldTable, type FieldValues, neutral, optional, unused } from "../fields/config-fields.js";
import { extent, isInteger, rate } from "../fields/field-checks.js";
import { type Initializer, normal } from "../initializers.js";
import { maxPooling } from "../pooling.js";
import { inTurn, namedParts, type Part } from "./part.js";
import { batchNorm2d, conv2d, linear, torchUniform } from "./torch-layers.js";

/** Four numbers, one for each stage. */
const stages = (most: number): checks.Check =>
  checks.claim(
    `a list of 4 integers from 1 to ${most}`,
    (value) => Array.isArray(value) && value.length === 4 && value.every((one) => isInteger(one, most)),
  );

/** The arguments of timm's ResNet, with its defaults, for a name with these numbers of blocks. */
export const resnetArgs = (layers: readonly number[]): FieldTable => ({
  layers: optional(stages(4096), layers),
  channels: optional(stages(2 ** 22), [64, 128, 256, 512]),
  in_chans: optional(extent, 3),
  num_classes: optional(checks.integer(0, 2 ** 22), 1000),
  global_pool: optional(checks.oneOf("avg", "max"), "avg"),
  drop_rate: optional(rate, 0),
  zero_init_last: optional(checks.truth, true),
  ...neutral("the stem, the blocks and their shortcuts are those of resnet18 to resnet152", {
    ...{ stem_type: "", replace_stem_pool: false, output_stride: 32, cardinality: 1, base_width: 64 },
    ...{ block_reduce_first: 1, avg_down: false, block_args: {}, act_layer: "relu" },
    norm_layer: "batchnorm2d",
  }),
  ...neutral("only drop_rate drops, before the last layer", { drop_path_rate: 0, drop_block_rate: 0 }),
  // They have no effect on this stem and these shortcuts.
  ...unused("stem_width down_kernel_size"),
});

interface Args extends Readonly<Record<"layers" | "channels", readonly number[]>> {
  readonly in_chans: number;
  readonly num_classes: number;
  readonly global_pool: "avg" | "max";
  readonly drop_rate: number;
  readonly zero_init_last: boolean;
}

const STEM = 64;

/** He et al. 2015 for the backward pass: normal with variance 2 / fanOut. */
const heFanOut: Initializer = (key, shape, fanIn, fanOut) =>
  normal(Math.sqrt(2 / fanOut))(key, shape, fanIn, fanOut);

const convolve = (inputs: number, outputs: number, size: number, stride = 1): Part =>
  conv2d(inputs, outputs, size, { stride, padding: (size - 1) / 2, bias: false, weight: heFanOut });

/**
 * ResNet (He et al., arXiv 1512.03385) with timm's names: [batch, in_chans, height, width] to logits, or to the
 * pooled features if `num_classes` is 0. The stride of a bottleneck is that of its 3 × 3 convolution.
 */
export function resnet(isBottleneck: boolean, given: FieldValues): Part {
  const args = given as unknown as Args;
  const expansion = isBottleneck ? 4 : 1;
  const widths = args.channels.map((planes) => planes * expansion);
  const parts: Record<string, Part> = {
    conv1: convolve(args.in_chans, STEM, 7, 2),
    bn1: batchNorm2d(STEM, 1),
  };
  const stageNames = args.layers.map((count, stage) => {
    const name = `layer${stage + 1}`;
    const [before = STEM, width = 0] = [widths[stage - 1], widths[stage]];
    parts[name] = inTurn(
      Array.from({ length: count }, (_, at) => {
        const stride = at === 0 && stage > 0 ? 2 : 1;
        const sizes = { inputs: at === 0 ? before : width, width: width / expansion, outputs: width, stride };
        return block(isBottleneck, sizes, args.zero_init_last);
      }),
    );
    return name;
  });
  const features = widths[widths.length - 1] as number;
  if (args.num_classes > 0)
    parts["fc"] = linear(features, args.num_classes, { weight: torchUniform, bias: torchUniform });
  const pool = args.global_pool === "avg" ? globalAveragePool : globalMaxPool;
  const shrink = maxPooling(3, { stride: 2, padding: 1 });
  return namedParts(parts, (run, x, context) => {
    const stem = shrink.apply({}, relu(run("bn1", run("conv1", x))));
    const pooled = pool(stageNames.reduce((y, name) => run(name, y), stem));
    const kept = scope("head", () => dropout(args.drop_rate).apply({}, pooled, context));
    return "fc" in parts ? run("fc", kept) : kept;
  });
}

type Sizes = Readonly<Record<"inputs" | "width" | "outputs" | "stride", number>>;

/** Two convolutions of 3 × 3, or one between two of 1 × 1, added to the input. */
function block(
  isBottleneck: boolean,
  { inputs, width, outputs, stride }: Sizes,
  isZeroAtFirst: boolean,
): Part {
  const convolutions = isBottleneck
    ? [convolve(inputs, width, 1), convolve(width, width, 3, stride), convolve(width, outputs, 1)]
    : [convolve(inputs, width, 3, stride), convolve(width, outputs, 3)];
  const last = convolutions.length;
  const parts: Record<string, Part> = {};
  for (const [at, convolution] of convolutions.entries()) {
    parts[`conv${at + 1}`] = convolution;
    const isLast = at + 1 === last;
    parts[`bn${at + 1}`] = batchNorm2d(isLast ? outputs : width, isLast && isZeroAtFirst ? 0 : 1);
  }
  const isOtherShape = stride !== 1 || inputs !== outputs;
  if (isOtherShape)
    parts["downsample"] = inTurn([convolve(inputs, outputs, 1, stride), batchNorm2d(outputs, 1)]);
  return namedParts(parts, (run, x) => {
    const shortcut = isOtherShape ? run("downsample", x) : x;
    const y = convolutions.reduce<Tensor>((before, _, at) => {
      const normed = run(`bn${at + 1}`, run(`conv${at + 1}`, before));
      return at + 1 === last ? normed : relu(normed);
    }, x);
    return relu(add(y, shortcut));
  });
}
