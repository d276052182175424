import { maxPool } from "@mp/core/ops";
import { type BlockPlan, residualWorkload } from "./residual-workload.js";
import type { Workload } from "./workload.js";

export const BOTTLENECK_NET_SIZES = {
  batch: 64,
  /** Side of the images, in pixels: a multiple of 32. */
  size: 224,
  /** Channels of the first stage; each further stage has twice as many. */
  width: 64,
  /** Blocks of each stage. */
  blocks: [3, 4, 6, 3],
  classes: 1000,
};

/** Output channels of a block, as a multiple of its width. */
const EXPANSION = 4;

/** Three units in the body, and one in the shortcut of a stage's first block. */
function planBlocks({ size, width, blocks }: typeof BOTTLENECK_NET_SIZES): readonly BlockPlan[] {
  return blocks.flatMap((count, stage) =>
    Array.from({ length: count }, (_, index): BlockPlan => {
      const [own, isFirst] = [width * 2 ** stage, index === 0];
      const wide = own * EXPANSION;
      const inputs = !isFirst ? wide : stage === 0 ? width : wide / 2;
      const stride = isFirst && stage > 0 ? 2 : 1;
      const side = size / 4 / 2 ** stage;
      return {
        body: [
          { taps: 1, inputs, outputs: own, stride: 1, side: side * stride },
          { taps: 3, inputs: own, outputs: own, stride, side },
          { taps: 1, inputs: own, outputs: wide, stride: 1, side },
        ],
        shortcut: isFirst ? { taps: 1, inputs, outputs: wide, stride, side } : undefined,
      };
    }),
  );
}

/** W5: ResNet-50 (He et al., arXiv 1512.03385; the strides in the middle convolution, as in torchvision). */
export function bottleneckNet(sizes = BOTTLENECK_NET_SIZES): Workload {
  const { batch, size, width, blocks, classes } = sizes;
  const depth = 2 + 3 * blocks.reduce((sum, count) => sum + count, 0);
  return residualWorkload({
    title: `ResNet-${depth} of width ${width} on images of ${size} by ${size}, batch ${batch}`,
    batch,
    size,
    stem: { taps: 7, inputs: 3, outputs: width, stride: 2, side: size / 2 },
    pools: [(x) => maxPool(x, 3, { strides: 2, pads: 1 })],
    blocks: planBlocks(sizes),
    features: width * 2 ** (blocks.length - 1) * EXPANSION,
    classes,
  });
}
