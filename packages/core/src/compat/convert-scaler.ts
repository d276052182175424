/** Exchanges loss scalers with other frameworks, so that a run that began there continues here at the same scales. */

import type { HostTensor, Tree } from "@mp/graph";
import { checks, readOptions, shown } from "@mp/graph/internal";
import { literal } from "@mp/graph/ops";
import { type DynamicLossScaler, dynamicLossScale, type LossScaler } from "../precision/loss-scaler.js";
import { inexpressible } from "./refusal.js";
import { FRAMEWORK_SCALERS, type FrameworkScaler, type ScalerCounts } from "./scaler-frameworks-table.js";
import type { ScalerFramework, ScalerStates } from "./scaler-states.js";

const framework = checks.oneOf(...Object.keys(FRAMEWORK_SCALERS));

/** Finds a framework's row of the table, typed by the framework's state. */
function findRow<F extends ScalerFramework>(what: string, name: F): FrameworkScaler<ScalerStates[F]> {
  framework(`${what}: framework`, name);
  return FRAMEWORK_SCALERS[name];
}

/**
 * Turns another framework's scaler state, taken between two steps, into the `lossScaler` of a precision. A new trainer
 * continues at that scale, with those counters. For the same overflows its scales equal the framework's while they are
 * between 2^-126 and 2^126; no bounds apply but those in the state. The state has numbers and booleans under the
 * framework's own names; pass a tensor of one element as its number.
 * @example
 * ```ts
 * const lossScaler = scalerFrom("pytorch", JSON.parse(text));
 * const training = await trainer({ backend, params, loss, optimizer, precision: { ...mixedFloat16(), lossScaler } });
 * ```
 * @throws MP_INVALID_ARGUMENT naming a field that is missing, unknown or not a value of such a state; MP_UNSUPPORTED
 *   naming one that `dynamicLossScale` cannot express
 */
export function scalerFrom<F extends ScalerFramework>(name: F, state: ScalerStates[F]): DynamicLossScaler {
  const row = findRow("scalerFrom", name);
  const what = `scalerFrom(${shown(name)})`;
  const { options, counts } = row.read(readOptions(what, state, row.fields) as ScalerStates[F], what);
  return {
    ...dynamicLossScale(options),
    init: () => ({
      scale: literal(counts.scale),
      goodSteps: literal(counts.goodSteps, "i32"),
      tolerance: literal(counts.tolerance, "i32"),
    }),
  };
}

/** The part of a trainer that gives the state of its loss scaler. */
export interface ScaledTraining {
  readonly precision: { readonly lossScaler: LossScaler };
  scalerState(): Promise<Tree<HostTensor>>;
}

/**
 * Converts the state of a trainer's dynamic loss scaler, after all earlier calls, to another framework's names. For
 * the same overflows the framework gives the same scales within `minScale` and `maxScale`; bounds that the framework
 * lacks are left out.
 * @throws MP_UNSUPPORTED for a scaler that is not `dynamicLossScale`, or naming an option that the framework lacks
 */
export async function scalerStateTo<F extends ScalerFramework>(
  name: F,
  training: ScaledTraining,
): Promise<ScalerStates[F]> {
  const row = findRow("scalerStateTo", name);
  const what = `scalerStateTo(${shown(name)})`;
  const { lossScaler } = training.precision;
  if (!isDynamic(lossScaler))
    inexpressible(
      what,
      "lossScaler",
      lossScaler.name,
      "and the state of dynamicLossScale alone is known there",
    );
  const { options } = lossScaler;
  return row.write({ options, counts: readCounts(await training.scalerState()) }, what);
}

function isDynamic(scaler: LossScaler): scaler is LossScaler & DynamicLossScaler {
  return scaler.kind === "dynamic" && "options" in scaler;
}

function readCounts(state: Tree<HostTensor>): ScalerCounts {
  const { scale, goodSteps, tolerance } = state as unknown as Record<keyof ScalerCounts, HostTensor>;
  const readNumber = ({ data }: HostTensor): number => Number(data[0]);
  return { scale: readNumber(scale), goodSteps: readNumber(goodSteps), tolerance: readNumber(tolerance) };
}
