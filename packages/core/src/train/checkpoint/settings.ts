import type { StepDefinition } from "../definition.js";

/**
 * The settings that, together with the state, decide how training continues: as text, by name. A checkpoint stores
 * them; loading one with other settings warns.
 */
export function settingsOf(definition: StepDefinition): Readonly<Record<string, string>> {
  const { precision, optimizer, clipNorm, accumulate, accumulation, onOverflow, maxRetries } = definition;
  const { policy, masterWeights, lossScaler } = precision;
  return {
    policy: String(policy),
    masterWeights: masterWeights.name,
    lossScaler: lossScaler.description ?? lossScaler.name,
    optimizer: optimizer.description ?? optimizer.name,
    clipNorm: String(clipNorm ?? "none"),
    // A mean is not named: checkpoints from before there was a choice have the number alone.
    accumulate: accumulation === "mean" ? String(accumulate) : `${accumulation} of ${accumulate}`,
    onOverflow: onOverflow === "retry" ? `retry(${maxRetries})` : onOverflow,
    checkNewParameters: String(definition.checkNewParameters),
  };
}
