import { type HostTensor, ones, scope } from "@mp/core";
import { rmsNormalization } from "@mp/core/ops";
import { readOptions, withDefault } from "@mp/graph/internal";
import type { Layer } from "./layer.js";
import { checkSizes, epsilon as epsilonKind } from "./option-kinds.js";

export type RmsNormParameters = { readonly scale: HostTensor<"f32"> };

const RMS_NORM = { epsilon: withDefault(1e-6, epsilonKind) };

/**
 * Divides by the root of the mean square (RMSNorm: Zhang and Sennrich, arXiv 1910.07467) over the last axis, which has
 * the given size. The mean is f32 under any policy. Keras and Llama have the default epsilon, 1e-6; PyTorch has
 * 1.19e-7. @throws MP_INVALID_ARGUMENT for a size below 1 or an epsilon below 0
 */
export function rmsNorm(size: number, options: { readonly epsilon?: number } = {}): Layer<RmsNormParameters> {
  checkSizes("rmsNorm", { size });
  const { epsilon } = readOptions("rmsNorm", options, RMS_NORM, { example: "{ epsilon: 1e-5 }" });
  return {
    name: "rmsNorm",
    init: () => ({ scale: ones([size]) }),
    apply: ({ scale }, x) => scope("rmsNorm", () => rmsNormalization(x, scale, { epsilon })),
  };
}
