import { type BackendManifest, type HalfDType, type Op, PRODUCT_OPS } from "@mp/graph";
import { accumulatorOf, type BackendWarning, supportsOp } from "@mp/graph/internal";
import {
  bfloat16Policy,
  type CastingPolicy,
  float16Policy,
  float32Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "../cast/policy.js";
import type { Recipe } from "../quantize/recipe.js";
import type { RecipesByStep } from "../quantize/recipes-by-step.js";
import { dynamicLossScale, type LossScaler, noLossScaling } from "./loss-scaler.js";
import { f32Master, type MasterWeights, noMasterWeights } from "./master-weights.js";

/**
 * Casting policy, master weights and loss scaling as one value; each part can be replaced: `{ ...mixedFloat16(),
 * lossScaler: staticLossScale(128) }`, `{ ...mixedBfloat16(), recipe: float8().recipe }`.
 */
export interface Precision {
  readonly name: string;
  readonly policy: CastingPolicy;
  readonly masterWeights: MasterWeights;
  readonly lossScaler: LossScaler;
  /**
   * How the operands of products are quantized; left out if they are not. `float8()` and others have one;
   * `recipesByStep` changes it during a run.
   */
  readonly recipe?: Recipe | RecipesByStep;
  readonly warnings?: readonly BackendWarning[];
}

/** A precision, or a function that picks one from a backend's manifest. */
export type PrecisionChoice = Precision | ((manifest: BackendManifest) => Precision);

function preset(
  name: string,
  policy: CastingPolicy,
  lossScaler: LossScaler = noLossScaling(),
  masterWeights: MasterWeights = f32Master(),
): Precision {
  return { name, policy, masterWeights, lossScaler };
}

/** Everything in f32. */
export function float32(): Precision {
  return preset("float32", float32Policy);
}

/** f16 compute, f32 masters, dynamic loss scaling: Micikevicius et al., arXiv 1710.03740. */
export function mixedFloat16(): Precision {
  return preset("mixed_float16", mixedFloat16Policy, dynamicLossScale());
}

/** bf16 compute, f32 masters, no loss scaling, since bf16 has f32's range. Non-finite steps are still skipped. */
export function mixedBfloat16(): Precision {
  return preset("mixed_bfloat16", mixedBfloat16Policy);
}

/** Parameters, compute and updates in f16, without loss scaling: the baseline for mixed precision. */
export function float16(): Precision {
  return preset("float16", float16Policy, noLossScaling(), noMasterWeights("f16"));
}

/** Parameters, compute and updates in bf16, without loss scaling. */
export function bfloat16(): Precision {
  return preset("bfloat16", bfloat16Policy, noLossScaling(), noMasterWeights("bf16"));
}

/** Only the user's `cast` calls, as in MXNet's and Apex's manual mode. The loss is scaled dynamically by default. */
export function manual(lossScaler: LossScaler = dynamicLossScale()): Precision {
  return preset("manual", manualPolicy, lossScaler);
}

const mixedByDType: Readonly<Record<HalfDType, () => Precision>> = { bf16: mixedBfloat16, f16: mixedFloat16 };

/** Matrix products and convolutions that the backend accumulates in this half dtype, so that small terms are lost. */
function narrowProducts(manifest: BackendManifest, half: HalfDType): readonly Op[] {
  return PRODUCT_OPS.filter(
    (op) => supportsOp(manifest, op, half) && accumulatorOf(manifest, op, half) !== "f32",
  );
}

/**
 * Picks a precision that the backend computes natively: bf16, else f16, else float32 with one warning that says where
 * mixed precision would be faster. A half dtype in which the backend also accumulates matrix products or convolutions
 * is not picked. To choose the half dtype yourself, emulated if necessary, use `mixedFloat16()` or `mixedBfloat16()`.
 */
export function mixed(): (manifest: BackendManifest) => Precision {
  return (manifest) => {
    const reasons: string[] = [];
    for (const dtype of ["bf16", "f16"] as const) {
      const support = manifest.dtypes[dtype];
      if (!("compute" in support) || support.compute !== "native") continue;
      const narrow = narrowProducts(manifest, dtype);
      if (narrow.length === 0) return mixedByDType[dtype]();
      reasons.push(`adds up products of ${dtype} in ${dtype} (${narrow.join(", ")})`);
    }
    const engine = `${manifest.engine.name} ${manifest.engine.version} on ${manifest.device}`;
    const why = reasons.length === 0 ? "computes neither fp16 nor bf16 natively" : reasons.join(" and ");
    const message =
      `mixed(): ${engine} ${why}, so everything runs in float32; mixed precision pays on CUDA ` +
      "(@mp/backend-ort with device cuda) and on CPUs with bf16 units (@mp/backend-openvino)";
    return { ...float32(), warnings: [{ type: "performance", message }] };
  };
}
