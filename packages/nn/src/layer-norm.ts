import { type HostTensor, ones, scope, zeros } from "@mp/core";
import { layerNormalization } from "@mp/core/ops";
import { readOptions, withDefault } from "@mp/graph/internal";
import type { Layer } from "./layer.js";
import { checkSizes, epsilon as epsilonKind } from "./option-kinds.js";

export type LayerNormParameters = { readonly scale: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

const LAYER_NORM = { epsilon: withDefault(1e-5, epsilonKind) };

/**
 * Layer normalization (Ba et al., arXiv 1607.06450) over the last axis, which has the given size. Statistics
 * are f32 under any policy. @throws MP_INVALID_ARGUMENT for a size below 1 or an epsilon below 0
 */
export function layerNorm(
  size: number,
  options: { readonly epsilon?: number } = {},
): Layer<LayerNormParameters> {
  checkSizes("layerNorm", { size });
  const { epsilon } = readOptions("layerNorm", options, LAYER_NORM, { example: "{ epsilon: 1e-6 }" });
  return {
    name: "layerNorm",
    init: () => ({ scale: ones([size]), bias: zeros([size]) }),
    apply: (parameters, x) =>
      scope("layerNorm", () => layerNormalization(x, parameters.scale, parameters.bias, { epsilon })),
  };
}
