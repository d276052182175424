import { ones, type Tensor, zeros } from "@mp/graph";
import {
  add,
  batchNormalization,
  constant,
  layerNormalization,
  mul,
  normalizeByStatistics,
  transpose,
} from "@mp/graph/ops";
import { type Call, firstInput, type LayerKind, weightNames } from "../plan.js";
import type { Settings } from "../settings.js";

/** Reads the axis of a config: a number, or a list with one. */
function readAxis(settings: Settings): number {
  const { axis } = settings.config;
  if (!Array.isArray(axis)) return settings.number("axis", -1);
  const [only] = settings.list("axis");
  return axis.length === 1 && only !== undefined ? only : settings.refuse("several axes are not read");
}

const affineNames = (settings: Settings): readonly string[] => [
  ...(settings.flag("scale", true) ? ["gamma"] : []),
  ...(settings.flag("center", true) ? ["beta"] : []),
];

/** Scale and shift of shape [size]; ones and zeros if the layer has none. */
function affineWeights(call: Call, names: readonly string[], size: number): readonly [Tensor, Tensor] {
  return [
    names.includes("gamma") ? call.weight("gamma") : constant(ones([size])),
    names.includes("beta") ? call.weight("beta") : constant(zeros([size])),
  ];
}

const batchNormalizationKind: LayerKind = (settings) => {
  const names = affineNames(settings);
  const [momentum, epsilon] = [settings.number("momentum", 0.99), settings.number("epsilon", 1e-3)];
  const given = readAxis(settings);
  return {
    weights: weightNames(...names),
    statistics: weightNames("moving_mean", "moving_variance"),
    run: (call) => {
      const x = firstInput(call);
      const rank = x.shape.length;
      const axis = given < 0 ? given + rank : given;
      if (!(axis > 0 && axis < rank)) settings.refuse(`axis: ${given} of ${rank} axes is not read`);
      const there = [0, axis, ...x.shape.map((_, at) => at).filter((at) => at !== 0 && at !== axis)];
      const isSecond = axis === 1;
      const y = normalizeBatch(isSecond ? x : transpose(x, there), call, { names, momentum, epsilon });
      return isSecond
        ? y
        : transpose(
            y,
            there.map((_, at) => there.indexOf(at)),
          );
    },
  };
};

interface BatchOptions {
  readonly names: readonly string[];
  readonly momentum: number;
  readonly epsilon: number;
}

function normalizeBatch(x: Tensor, call: Call, { names, momentum, epsilon }: BatchOptions): Tensor {
  const [gamma, beta] = affineWeights(call, names, x.shape[1] ?? 1);
  const statistics = { mean: call.statistic("moving_mean"), variance: call.statistic("moving_variance") };
  if (!call.training) return normalizeByStatistics(x, gamma, beta, statistics, { epsilon });
  const { y, mean, variance } = batchNormalization(x, gamma, beta, { epsilon });
  const follow = (name: string, running: Tensor, now: Tensor): void =>
    call.follow(name, add(mul(running, momentum), mul(now, 1 - momentum)));
  follow("moving_mean", statistics.mean, mean);
  // The variance of the batch, as in Keras; PyTorch follows the unbiased variance.
  follow("moving_variance", statistics.variance, variance);
  return y;
}

const layerNormalizationKind: LayerKind = (settings) => {
  const names = affineNames(settings);
  const epsilon = settings.number("epsilon", 1e-3);
  const given = readAxis(settings);
  return {
    weights: weightNames(...names),
    run: (call) => {
      const x = firstInput(call);
      if (given !== -1 && given !== x.shape.length - 1)
        settings.refuse("another axis than the last is not read");
      return layerNormalization(x, ...affineWeights(call, names, x.shape.at(-1) ?? 1), { epsilon });
    },
  };
};

export const NORMALIZATION_LAYERS: Readonly<Record<string, LayerKind>> = {
  BatchNormalization: batchNormalizationKind,
  LayerNormalization: layerNormalizationKind,
};
