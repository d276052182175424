/** Changes of options as data, and a function that applies them, so that a program can follow a diagnosis. */
import type { CastingPolicyChanges } from "../../cast/policy.js";
import { type DynamicLossScaleOptions, dynamicLossScale } from "../../precision/loss-scaler.js";
import { f32Master } from "../../precision/master-weights.js";
import { float32, mixedBfloat16, mixedFloat16, type Precision } from "../../precision/presets.js";
import type { TrainingWarning } from "../definition/warning.js";

/** A change of one part of a precision, as JSON-serializable data; `withRemedies` applies it. */
export type Remedy =
  /** The options of a `dynamicLossScale`. */
  | { readonly option: "lossScaler"; readonly value: DynamicLossScaleOptions }
  /** Changes of the casting policy, for its `with`. */
  | { readonly option: "policy"; readonly value: CastingPolicyChanges }
  /** The preset that replaces the whole precision, by the name of its function. */
  | { readonly option: "precision"; readonly value: "mixedFloat16" | "mixedBfloat16" | "float32" }
  | { readonly option: "masterWeights"; readonly value: "f32" };

type ValueOf<K> = Extract<Remedy, { readonly option: K }>["value"];

const PRESETS: Readonly<Record<ValueOf<"precision">, () => Precision>> = {
  mixedFloat16,
  mixedBfloat16,
  float32,
};

const CHANGES: { readonly [K in Remedy["option"]]: (precision: Precision, value: ValueOf<K>) => Precision } =
  {
    lossScaler: (precision, value) => ({ ...precision, lossScaler: dynamicLossScale(value) }),
    policy: (precision, value) => ({ ...precision, policy: precision.policy.with(value) }),
    precision: (_, value) => PRESETS[value](),
    masterWeights: (precision) => ({ ...precision, masterWeights: f32Master() }),
  };

/**
 * Applies the remedies of a diagnosis to a precision, in their order. They are a list, or in the details of an error
 * or a warning, which may have none. If an objective has its own `scaler`, set it to the `lossScaler` of the result.
 * @example
 * ```ts
 * const found = await training.diagnose([batch]);
 * const precision = withRemedies(mixedFloat16(), found?.remedies ?? []);
 * ```
 */
export const withRemedies = (
  precision: Precision,
  remedies: readonly Remedy[] | Pick<TrainingWarning, "details">,
): Precision =>
  findRemedies(remedies).reduce(
    (changed, { option, value }) => CHANGES[option](changed, value as never),
    precision,
  );

function findRemedies(from: readonly Remedy[] | Pick<TrainingWarning, "details">): readonly Remedy[] {
  if ("length" in from) return from;
  const { diagnosis, remedies } = from.details ?? {};
  return (remedies ?? (diagnosis as { readonly remedies?: unknown })?.remedies ?? []) as readonly Remedy[];
}

/** Remedies in words: `lossScaler {initialScale:1024}`. */
export const formatRemedies = (remedies: readonly Remedy[]): string =>
  remedies
    .map(({ option, value }) => `${option} ${JSON.stringify(value)}`)
    .join(" and ")
    .replaceAll(/"(\w+)":/g, "$1:");
