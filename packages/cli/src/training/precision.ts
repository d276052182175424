import {
  type BackendManifest,
  bfloat16,
  dynamicLossScale,
  f32Master,
  float8,
  float16,
  float32,
  type HalfDType,
  kahan,
  type LossScaler,
  lowDType,
  type MasterWeights,
  mixed,
  mixedBfloat16,
  mixedFloat16,
  mxfp4,
  mxfp8,
  noLossScaling,
  noMasterWeights,
  nvfp4,
  type Precision,
  type Recipe,
  staticLossScale,
  stochasticRounding,
} from "@mp/core";
import type { CommonOptions, LossScaleName, MasterWeightsName, PrecisionName } from "../common-flags.js";
import { UsageError } from "../run-app.js";

const quantized = {
  float8: () => float8(),
  mxfp8: () => mxfp8(),
  mxfp4: () => mxfp4(),
  nvfp4: () => nvfp4(),
};

/** The recipes of all precisions that have one. */
export const presetRecipes: readonly Recipe[] = Object.values(quantized).map((make) => make().recipe);

const precisions: Readonly<Record<PrecisionName, (manifest: BackendManifest) => Precision>> = {
  mixed: mixed(),
  float32,
  mixed_float16: mixedFloat16,
  mixed_bfloat16: mixedBfloat16,
  float16,
  bfloat16,
  ...quantized,
};

const masters: Readonly<Record<MasterWeightsName, (half: HalfDType) => MasterWeights>> = {
  f32: f32Master,
  none: noMasterWeights,
  kahan: (half) => kahan(half),
  stochastic: stochasticRounding,
};

/** Makes the precision that the flags describe. @throws UsageError for master weights that this precision cannot have */
export function precisionOf(options: CommonOptions, manifest: BackendManifest): Precision {
  const base = precisions[options.precision](manifest);
  const half = lowDType(base.policy);
  if (half === undefined && options.masterWeights !== "f32") {
    throw new UsageError(`--master-weights ${options.masterWeights} needs a half, ${base.name} has none`);
  }
  if (options.masterWeights === "stochastic" && half !== "bf16") {
    throw new UsageError(`--master-weights stochastic rounds to bfloat16, ${base.name} computes in ${half}`);
  }
  return {
    ...base,
    masterWeights: masters[options.masterWeights](half ?? "bf16"),
    lossScaler: chooseLossScaler(options, base.lossScaler),
  };
}

function chooseLossScaler({ lossScale, initialScale }: CommonOptions, natural: LossScaler): LossScaler {
  const dynamic = (): LossScaler => dynamicLossScale(initialScale === undefined ? {} : { initialScale });
  if (typeof lossScale === "number") return staticLossScale(lossScale);
  if (lossScale === "none") return noLossScaling();
  if (lossScale === "dynamic") return dynamic();
  return natural.kind === "dynamic" ? dynamic() : natural;
}

/** The loss scale of a precision, as results report it. */
export function lossScaleName(options: CommonOptions, precision: Precision): LossScaleName {
  return options.lossScale ?? (precision.lossScaler.kind === "dynamic" ? "dynamic" : "none");
}
