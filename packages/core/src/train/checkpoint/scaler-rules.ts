import type { Backend } from "../../backend.js";
import type { HostTensor } from "../../host-tensor.js";
import { leavesOf } from "../../tree.js";
import type { StepDefinition } from "../definition.js";
import { fedName, type TypeTree } from "../program/program.js";
import { runOnce } from "../program/program-cache.js";
import { isValueType } from "../state.js";
import { numberIn, type Outputs } from "../step/outputs.js";
import { fedScaleProgram } from "../step/programs.js";
import { scaleFault } from "../step/scale.js";
import type { Bounds } from "./restored-state.js";

/** What a run requires of a loss scaler's state from a file. */
export interface ScalerRules {
  readonly bounds: Bounds | undefined;
  /**
   * What is wrong with the scale that such a state gives, by running the scaler on the engine; undefined where nothing
   * is.
   */
  faultOf(tensors: Outputs): Promise<string | undefined>;
}

export function scalerRules(backend: Backend, definition: StepDefinition, state: TypeTree): ScalerRules {
  const { scaler } = state as { readonly scaler: TypeTree };
  const slots = leavesOf(scaler, isValueType, "scaler").map(([path]) => fedName("scaler", path));
  const { lossScaler } = definition.precision;
  return {
    bounds: lossScaler.bounds,
    faultOf: async (tensors) => {
      const fed = Object.fromEntries(slots.map((slot) => [slot, tensors[slot] as HostTensor]));
      const values = await runOnce(backend, fedScaleProgram(definition, scaler), fed);
      return scaleFault(lossScaler, numberIn(values, "scale"));
    },
  };
}
