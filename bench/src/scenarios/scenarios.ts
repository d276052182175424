import { activations } from "./activations.js";
import { compilation } from "./compilation.js";
import { convolution } from "./convolution.js";
import { emulation } from "./emulation.js";
import { hostOverhead } from "./host-overhead.js";
import { loopCost } from "./loop-cost.js";
import { memory } from "./memory.js";
import { recipesBesideFloat32 } from "./recipes.js";
import { recurrence } from "./recurrence.js";
import type { Scenario } from "./scenario.js";
import { updateCost } from "./update-cost.js";

/** Scenarios by their names on the command line. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  update: updateCost,
  emulation,
  host: hostOverhead,
  compile: compilation,
  memory,
  recurrence,
  activations,
  convolution,
  "loop-cost": loopCost,
  recipes: recipesBesideFloat32,
};

/** @throws RangeError for an unknown name */
export function scenarioNamed(name: string): Scenario {
  const scenario = Object.hasOwn(SCENARIOS, name) ? SCENARIOS[name] : undefined;
  if (scenario === undefined) {
    throw new RangeError(`${name}: no such scenario; there are ${Object.keys(SCENARIOS).join(", ")}`);
  }
  return scenario;
}
