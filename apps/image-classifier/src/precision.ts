import { UsageError } from "@mp/cli";
import { type Run, trainerOptions } from "@mp/cli/training";
import { type HalfDType, lowDType, manual, type Precision } from "@mp/core";
import type { Options } from "./flags.js";

interface ChosenPrecision {
  readonly precision: Precision;
  /** The half dtype that `--manual` casts to by hand. */
  readonly castTo: HalfDType | undefined;
}

/**
 * Chooses the precision of the flags.
 * @throws UsageError for `--manual` with a precision that has no half dtype, or together with `--half-reductions`
 */
export function choosePrecision(run: Pick<Run<Options>, "options" | "backend">): ChosenPrecision {
  const { options, backend } = run;
  const { precision } = trainerOptions({ options: { ...options, halfReductions: false }, backend });
  if (!options.manual) return { ...trainerOptions(run), castTo: undefined };
  if (options.halfReductions) {
    throw new UsageError(`--half-reductions changes the policy of a half, ${precision.name} is cast by hand`);
  }
  const castTo = lowDType(precision.policy);
  if (castTo === undefined) {
    throw new UsageError(
      `--manual casts to a half, ${precision.name} has none; add --precision mixed_float16`,
    );
  }
  const { policy } = manual(precision.lossScaler);
  return { precision: { ...precision, policy, name: `manual(${castTo})` }, castTo };
}
