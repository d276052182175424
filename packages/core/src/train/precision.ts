import type { BackendWarning } from "../backend.js";
import {
  bfloat16Policy,
  type CastingPolicy,
  float16Policy,
  float32Policy,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
} from "../casting-policy.js";
import type { HalfDType } from "../dtype.js";
import { dynamicLossScale, type LossScaler, noLossScaling } from "../loss-scaler.js";
import { type BackendManifest, unsupportedReason } from "../manifest.js";
import { f32Master, type MasterWeights, noMasterWeights } from "../master-weights.js";

/** The three techniques as one value; each part can be replaced: `{ ...mixedFloat16(), lossScaler: staticLossScale(128) }`. */
export interface Precision {
  readonly name: string;
  readonly policy: CastingPolicy;
  readonly masterWeights: MasterWeights;
  readonly lossScaler: LossScaler;
  readonly warnings?: readonly BackendWarning[];
}

/** A precision, or one that depends on what the backend computes natively. */
export type PrecisionChoice = Precision | ((manifest: BackendManifest) => Precision);

/** Everything in f32. */
export function float32(): Precision {
  return { name: "float32", policy: float32Policy, masterWeights: f32Master(), lossScaler: noLossScaling() };
}

/** f16 compute, f32 masters, dynamic loss scaling: Micikevicius et al., arXiv 1710.03740. */
export function mixedFloat16(): Precision {
  return {
    name: "mixed_float16",
    policy: mixedFloat16Policy,
    masterWeights: f32Master(),
    lossScaler: dynamicLossScale(),
  };
}

/** bf16 compute and f32 masters; bf16 has f32's range, so the loss is not scaled. The finite check stays on. */
export function mixedBfloat16(): Precision {
  return {
    name: "mixed_bfloat16",
    policy: mixedBfloat16Policy,
    masterWeights: f32Master(),
    lossScaler: noLossScaling(),
  };
}

/** Parameters, compute and updates in f16, nothing scaled: what mixed precision is measured against. */
export function float16(): Precision {
  return {
    name: "float16",
    policy: float16Policy,
    masterWeights: noMasterWeights("f16"),
    lossScaler: noLossScaling(),
  };
}

/** Parameters, compute and updates in bf16, nothing scaled. */
export function bfloat16(): Precision {
  return {
    name: "bfloat16",
    policy: bfloat16Policy,
    masterWeights: noMasterWeights("bf16"),
    lossScaler: noLossScaling(),
  };
}

/** Nothing is cast but what the user's `cast` calls say, as in MXNet's and Apex's manual mode. */
export function manual(lossScaler: LossScaler = dynamicLossScale()): Precision {
  return { name: "manual", policy: manualPolicy, masterWeights: f32Master(), lossScaler };
}

const mixedByDType: Readonly<Record<HalfDType, () => Precision>> = { bf16: mixedBfloat16, f16: mixedFloat16 };

/**
 * What this backend computes natively: bf16, else f16, else float32 with one warning that says where mixed
 * precision would pay. To emulate a half on purpose, ask for `mixedFloat16()` or `mixedBfloat16()`.
 */
export function mixed(): (manifest: BackendManifest) => Precision {
  return (manifest) => {
    for (const dtype of ["bf16", "f16"] as const) {
      const support = manifest.dtypes[dtype];
      if (unsupportedReason(support) === undefined && (support as { compute: string }).compute === "native") {
        return mixedByDType[dtype]();
      }
    }
    const engine = `${manifest.engine.name} ${manifest.engine.version} on ${manifest.device}`;
    const message =
      `mixed(): ${engine} computes no half natively, training runs in float32; mixed precision pays on CUDA ` +
      "(@mp/backend-ort with device cuda) and on CPUs with bf16 units (@mp/backend-tfjs)";
    return { ...float32(), warnings: [{ type: "performance", message }] };
  };
}
