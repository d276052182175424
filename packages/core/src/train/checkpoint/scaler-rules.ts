import { type Backend, type HostTensor, leavesOf } from "@mp/graph";
import { runOnce } from "../compile/compiled-programs.js";
import type { StepDefinition } from "../definition/definition.js";
import { ownSlot, stateTypes } from "../definition/objective-state.js";
import { numberIn, type Outputs } from "../definition/outputs.js";
import { isValueType } from "../definition/state.js";
import { feedName, type TypeTree } from "../definition/traced-program.js";
import { scaleFault } from "../programs/scale.js";
import { scaleOfScalerProgram } from "../programs/step-programs.js";
import type { Bounds } from "./value-problems.js";

/** The checks of loss scalers' states that come from a checkpoint. */
export interface ScalerRules {
  /** Bounds of the states' values, by slot. */
  readonly bounds: Bounds;
  /** Runs the scalers on the engine and returns a problem with their scales, if any. */
  faultOf(tensors: Outputs): Promise<string | undefined>;
}

/** Makes the checks for the scalers of all objectives. */
export function scalerRules(
  backend: Backend,
  definitions: readonly StepDefinition[],
  state: TypeTree,
): ScalerRules {
  const bounds = definitions.flatMap((definition) =>
    Object.entries(definition.precision.lossScaler.bounds ?? {}).map(
      ([path, range]) => [ownSlot(definition, "scaler", path), range] as const,
    ),
  );
  return {
    bounds: Object.fromEntries(bounds),
    faultOf: async (tensors) => {
      for (const definition of definitions) {
        const fault = await scaleFaultIn(backend, definition, state, tensors);
        if (fault !== undefined) return fault;
      }
      return undefined;
    },
  };
}

async function scaleFaultIn(
  backend: Backend,
  definition: StepDefinition,
  state: TypeTree,
  tensors: Outputs,
): Promise<string | undefined> {
  const types = stateTypes(definition, state, "scaler");
  const fed = leavesOf(types, isValueType, "scaler").map(([path]) => {
    const value = tensors[ownSlot(definition, "scaler", path)] as HostTensor;
    return [feedName("scaler", path), value] as const;
  });
  const values = await runOnce(backend, scaleOfScalerProgram(definition, types), Object.fromEntries(fed));
  return scaleFault(definition.precision.lossScaler, numberIn(values, "scale"));
}
