import { describeRecipes } from "../../../quantize/recipes-by-step.js";
import type { Definitions, StepDefinition } from "../../definition/definition.js";
import { withObjective } from "../../definition/objective-state.js";
import { describeEma } from "../../weights/average.js";

export interface Setting {
  readonly name: string;
  /** The setting's value as in files; empty, and left out of files, for a part that the run lacks. */
  readonly text: string;
  /** Whether the setting determines the structure of the state. */
  readonly shapesState: boolean;
}

type Metadata = Readonly<Record<string, string>>;

/** The setting that holds the names of the objectives in their order, as JSON. */
export const OBJECTIVES = "objectives";

const OPTIMIZER = "optimizer";

/**
 * Lists the settings that, besides the state, decide how training continues. A checkpoint stores them; loading one
 * with other settings warns.
 */
export function listSettings(definitions: Definitions): readonly Setting[] {
  const [definition] = definitions;
  const { objective, precision, accumulate, accumulation, onOverflow, maxRetries, ema } = definition;
  const { policy, masterWeights, recipe } = precision;
  return [
    setting("policy", String(policy)),
    setting("masterWeights", masterWeights.name, true),
    setting("recipe", recipe === undefined ? "" : describeRecipes(recipe)),
    ...(objective === undefined ? [] : [setting(OBJECTIVES, JSON.stringify(objective.all), true)]),
    ...definitions.flatMap(ownSettings),
    // A mean is written as the number alone, as in checkpoints that are older than the option.
    setting("accumulate", accumulation === "mean" ? String(accumulate) : `${accumulation} of ${accumulate}`),
    setting("onOverflow", onOverflow === "retry" ? `retry(${maxRetries})` : onOverflow),
    setting("checkNewParameters", String(definition.checkNewParameters)),
    ...(ema === undefined ? [] : [setting("ema", describeEma(ema))]),
    ...definition.notes.map(([path, note]) => setting(`params/${path}`, note)),
  ];
}

function setting(name: string, text: string, shapesState = false): Setting {
  return { name, text, shapesState };
}

function ownSettings(definition: StepDefinition): readonly Setting[] {
  const { precision, optimizer, clipNorm } = definition;
  const { lossScaler } = precision;
  return [
    setting(withObjective(definition, "lossScaler"), lossScaler.description ?? lossScaler.name, true),
    setting(withObjective(definition, OPTIMIZER), optimizer.description ?? optimizer.name, true),
    setting(withObjective(definition, "clipNorm"), String(clipNorm ?? "none")),
  ];
}

/** Converts settings to entries of a file's metadata. */
export function printSettings(settings: readonly Setting[]): Metadata {
  return Object.fromEntries(settings.flatMap(({ name, text }) => (text === "" ? [] : [[name, text]])));
}

/** Whether the settings have an optimizer with groups of parameters, a `byPath`. */
export function hasGroups(metadata: Metadata): boolean {
  return Object.entries(metadata).some(
    ([name, text]) => name.startsWith(OPTIMIZER) && text.includes("byPath("),
  );
}
