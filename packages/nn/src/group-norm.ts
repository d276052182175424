import { type HostTensor, ones, scope, zeros } from "@mp/core";
import { groupNormalization } from "@mp/core/ops";
import { readOptions, withDefault } from "@mp/graph/internal";
import { invalid } from "./errors.js";
import type { Layer } from "./layer.js";
import { checkSizes, epsilon as epsilonKind } from "./option-kinds.js";

export type GroupNormParameters = { readonly scale: HostTensor<"f32">; readonly bias: HostTensor<"f32"> };

const GROUP_NORM = { epsilon: withDefault(1e-5, epsilonKind) };

/**
 * Group normalization (Wu and He, arXiv 1803.08494) of each example over groups of channels, the second axis.
 * Statistics are f32 under any policy. With as many groups as channels, it is instance normalization.
 * @throws MP_INVALID_ARGUMENT for groups that do not divide the channels, or an epsilon below 0
 */
export function groupNorm(
  groups: number,
  channels: number,
  options: { readonly epsilon?: number } = {},
): Layer<GroupNormParameters> {
  checkSizes("groupNorm", { groups, channels });
  const { epsilon } = readOptions("groupNorm", options, GROUP_NORM, { example: "{ epsilon: 1e-6 }" });
  if (channels % groups !== 0) {
    const problem = `${groups} groups do not divide ${channels} channels`;
    throw invalid(`groupNorm: ${problem}`);
  }
  return {
    name: "groupNorm",
    init: () => ({ scale: ones([channels]), bias: zeros([channels]) }),
    apply: ({ scale, bias }, x) =>
      scope("groupNorm", () => groupNormalization(x, scale, bias, { numGroups: groups, epsilon })),
  };
}
