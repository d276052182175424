import type { FitCallback, FitEpoch, FitPosition } from "@mp/core/fit";

/** A callback for any trainer: with one loss or several, whatever its batches and metrics are. */
export type AnyCallback = FitCallback<string, unknown, FitPosition, FitEpoch>;
