import type { StepDefinition } from "./definition.js";

/**
 * What decides, beside the state, how training goes on: in words, by name. A checkpoint keeps them, and one that was
 * made under others is loaded with a warning.
 */
export function settingsOf(definition: StepDefinition): Readonly<Record<string, string>> {
  const { precision, optimizer, clipNorm, accumulate, onOverflow, maxRetries } = definition;
  const { policy, masterWeights, lossScaler } = precision;
  return {
    policy: String(policy),
    masterWeights: masterWeights.name,
    lossScaler: lossScaler.description ?? lossScaler.name,
    optimizer: optimizer.description ?? optimizer.name,
    clipNorm: String(clipNorm ?? "none"),
    accumulate: String(accumulate),
    onOverflow: onOverflow === "retry" ? `retry(${maxRetries})` : onOverflow,
    checkNewParameters: String(definition.checkNewParameters),
  };
}
