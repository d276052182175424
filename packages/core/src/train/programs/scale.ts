import { isTensor, MpError, type Tensor } from "@mp/graph";
import { and, lessOrEqual } from "@mp/graph/ops";
import { LARGEST_SCALE, type LossScaler, SMALLEST_SCALE } from "../../precision/loss-scaler.js";
import type { StepDefinition } from "../definition/definition.js";
import type { TrainingState } from "../definition/state.js";

/**
 * The loss scale that follows from a scaler's state.
 * @throws MP_INVALID_ARGUMENT, MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for a scaler that returns no f32 scalar
 */
export function computeScale(
  { precision: { lossScaler } }: StepDefinition,
  state: Pick<TrainingState, "scaler">,
): Tensor {
  const scale = lossScaler.scale(state.scaler);
  if (isTensor(scale) && scale.dtype === "f32" && scale.shape.length === 0) return scale;
  throw new MpError(
    !isTensor(scale)
      ? "MP_INVALID_ARGUMENT"
      : scale.dtype === "f32"
        ? "MP_SHAPE_MISMATCH"
        : "MP_DTYPE_MISMATCH",
    `loss scaler ${lossScaler.name}: a scale must be an f32 scalar, got ${scale}`,
  );
}

export interface ScaleRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The scales that a scaler may return: its own bounds, limited to what f32 can divide by and rounded to f32 like the
 * scale.
 */
export function scaleRange({ minScale, maxScale }: LossScaler): ScaleRange {
  return {
    from: Math.fround(Math.max(minScale ?? SMALLEST_SCALE, SMALLEST_SCALE)),
    to: Math.fround(Math.min(maxScale ?? LARGEST_SCALE, LARGEST_SCALE)),
  };
}

/** Whether the scale is in the scaler's range, bool scalar; such a scale is finite and above 0. */
export function isUsable(scale: Tensor, lossScaler: LossScaler): Tensor {
  const { from, to } = scaleRange(lossScaler);
  return and(lessOrEqual(from, scale), lessOrEqual(scale, to));
}

/** The problem with a step's scale, and the remedy; undefined if the scale is valid. */
export function scaleFault(lossScaler: LossScaler, scale: number): string | undefined {
  const { from, to } = scaleRange(lossScaler);
  if (scale >= from && scale <= to) return undefined;
  const [lowest, highest] = [from, to].map((bound) => `2^${round(Math.log2(bound))}`);
  return (
    `loss scaler ${lossScaler.name} gave the scale ${scale}, which is no number from ${lowest} to ${highest}: ` +
    "a step at such a scale is skipped; let its `scale` stay in that range"
  );
}

const round = (exponent: number): number => Math.round(exponent * 1000) / 1000;
