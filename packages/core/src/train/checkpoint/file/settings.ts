import type { StepDefinition } from "../../definition/definition.js";
import { named } from "../../definition/objective-state.js";
import { describeEma } from "../../weights/average.js";

export type Settings = Readonly<Record<string, string>>;

/** The setting that holds the names of the objectives in their order, as JSON. */
export const OBJECTIVES = "objectives";

/**
 * The settings that, together with the state, decide how training continues: as text, by name. A checkpoint stores
 * them; loading one with other settings warns.
 */
export function settingsOf(definitions: readonly [StepDefinition, ...StepDefinition[]]): Settings {
  const [definition] = definitions;
  const { objective, precision, accumulate, accumulation, onOverflow, maxRetries } = definition;
  const { policy, masterWeights } = precision;
  return {
    policy: String(policy),
    masterWeights: masterWeights.name,
    ...(objective === undefined ? {} : { [OBJECTIVES]: JSON.stringify(objective.all) }),
    ...Object.assign({}, ...definitions.map(ownSettings)),
    // A mean is not named: checkpoints from before there was a choice have the number alone.
    accumulate: accumulation === "mean" ? String(accumulate) : `${accumulation} of ${accumulate}`,
    onOverflow: onOverflow === "retry" ? `retry(${maxRetries})` : onOverflow,
    checkNewParameters: String(definition.checkNewParameters),
    ...(definition.ema === undefined ? {} : { ema: describeEma(definition.ema) }),
  };
}

function ownSettings(definition: StepDefinition): Settings {
  const { precision, optimizer, clipNorm } = definition;
  const { lossScaler } = precision;
  return {
    [named(definition, "lossScaler")]: lossScaler.description ?? lossScaler.name,
    [named(definition, "optimizer")]: optimizer.description ?? optimizer.name,
    [named(definition, "clipNorm")]: String(clipNorm ?? "none"),
  };
}
