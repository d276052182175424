import { gatherKernels } from "./gather.js";
import { rearrangeKernels } from "./rearrange.js";
import { scatterKernels } from "./scatter.js";

/** Movement never rounds; only scatters that accumulate do arithmetic. */
export const movementKernels: typeof rearrangeKernels & typeof gatherKernels & typeof scatterKernels = {
  ...rearrangeKernels,
  ...gatherKernels,
  ...scatterKernels,
};
