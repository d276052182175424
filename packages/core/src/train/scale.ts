import { MpError } from "../errors.js";
import { isTensor, type Tensor } from "../trace/tensor.js";
import type { StepDefinition } from "./definition.js";
import type { TrainingState } from "./state.js";

/** The loss scale of a step from this state. @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for a scaler that gives something else */
export function scaleOf({ precision: { lossScaler } }: StepDefinition, state: TrainingState): Tensor {
  const scale = lossScaler.scale(state.scaler);
  if (isTensor(scale) && scale.dtype === "f32" && scale.shape.length === 0) return scale;
  throw new MpError(
    !isTensor(scale)
      ? "MP_INVALID_ARGUMENT"
      : scale.dtype === "f32"
        ? "MP_SHAPE_MISMATCH"
        : "MP_DTYPE_MISMATCH",
    `loss scaler ${lossScaler.name}: a scale is an f32 scalar, got ${scale}`,
  );
}
