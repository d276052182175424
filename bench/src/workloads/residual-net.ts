import { type BlockPlan, residualWorkload } from "./residual-workload.js";
import type { Workload } from "./workload.js";

/** `blocks` is the number of blocks of each width. */
export const RESIDUAL_NET_SIZES = { batch: 64, size: 32, widths: [16, 32, 64], blocks: 3, classes: 10 };

/** Two units in the body, and one in the shortcut where the width changes. */
function planBlocks({ size, widths, blocks }: typeof RESIDUAL_NET_SIZES): readonly BlockPlan[] {
  return widths.flatMap((outputs, stage) =>
    Array.from({ length: blocks }, (_, index): BlockPlan => {
      const isFirst = index === 0 && stage > 0;
      const [inputs, stride] = isFirst ? [widths[stage - 1] ?? 0, 2] : [outputs, 1];
      const side = size >> stage;
      return {
        body: [
          { taps: 3, inputs, outputs, stride, side },
          { taps: 3, inputs: outputs, outputs, stride: 1, side },
        ],
        shortcut: isFirst ? { taps: 1, inputs, outputs, stride, side } : undefined,
      };
    }),
  );
}

/** W3: ResNet-20 (He et al., arXiv 1512.03385). */
export function residualNet(sizes = RESIDUAL_NET_SIZES): Workload {
  const { batch, size, widths, blocks, classes } = sizes;
  const [narrow = 1, wide = 1] = [widths[0], widths.at(-1)];
  return residualWorkload({
    title: `ResNet-${6 * blocks + 2} on images of ${size} by ${size}, batch ${batch}`,
    batch,
    size,
    stem: { taps: 3, inputs: 3, outputs: narrow, stride: 1, side: size },
    pools: [],
    blocks: planBlocks(sizes),
    features: wide,
    classes,
  });
}
