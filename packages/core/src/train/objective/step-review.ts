/** Reviews each step that a trainer has made: warns, counts updates, and throws after too many skips. */
import { MpError } from "@mp/graph";
import { lowDType } from "../../cast/policy.js";
import type { FlatBatch } from "../batch/batch.js";
import type { CompiledPrograms } from "../compile/compiled-programs.js";
import type { StepDefinition } from "../definition/definition.js";
import { withObjective } from "../definition/objective-state.js";
import { flagIn, numberIn, type Outputs } from "../definition/outputs.js";
import type { TensorUpdates } from "../definition/result.js";
import type { TypeTree } from "../definition/traced-program.js";
import type { TrainingWarning } from "../definition/warning.js";
import { formatAttribution } from "../diagnosis/attribution.js";
import { isBeyond } from "../diagnosis/beyond-half.js";
import { type Diagnosis, diagnose } from "../diagnosis/diagnose.js";
import { MOST_UNCHANGED } from "../diagnosis/examine.js";
import { type Inspected, Replay, shareUnchanged } from "../diagnosis/replay.js";
import { scaleFault } from "../programs/scale.js";
import { stateBelowRange } from "./state-below-range.js";

export interface ReviewOptions {
  readonly definition: StepDefinition;
  readonly stateTypes: TypeTree;
  /** Root mean square of the initial weights. */
  readonly initialSize: number;
  readonly maxConsecutiveSkips: number;
  /** Applied steps between two counts of updates. */
  readonly checkUpdates: number | undefined;
  readonly warn: (warning: TrainingWarning) => void;
}

export class StepReview {
  readonly #programs: CompiledPrograms;
  readonly #options: ReviewOptions;
  #hasSearchedData = false;
  #hasWarnedOfState = false;
  #hasSearchedUnderflow = false;
  #firstLoss: number | undefined;
  /** Applied steps so far, if `checkUpdates` is set. */
  #applied = 0;

  constructor(programs: CompiledPrograms, options: ReviewOptions) {
    this.#programs = programs;
    this.#options = options;
  }

  get inspected(): Inspected {
    return { programs: this.#programs, ...this.#options, firstLoss: this.#firstLoss };
  }

  /**
   * Warns of problems of a step, and counts its updates if `checkUpdates` selects it.
   * @param counts false if the step's weight is 0
   * @returns undefined instead of a promise for a step that needs no review
   * @throws MP_NON_FINITE after too many skips in a row
   */
  look(
    outputs: Outputs,
    feeds: readonly FlatBatch[],
    counts: boolean,
  ): Promise<readonly TensorUpdates[] | undefined> | undefined {
    const loss = numberIn(outputs, "loss");
    if (counts && Number.isFinite(loss)) this.#firstLoss ??= loss;
    if (flagIn(outputs, "applied")) {
      this.#warnOfState(outputs);
      const isZero = !this.#hasSearchedUnderflow && numberIn(outputs, "gradNorm") === 0;
      const { checkUpdates } = this.#options;
      const isDue = checkUpdates !== undefined && this.#applied++ % checkUpdates === 0;
      return isZero || isDue ? this.#lookAtApplied(outputs, feeds, { isZero, isDue }) : undefined;
    }
    if (counts) return this.#lookAtSkipped(outputs, feeds);
    this.#warnOfWeight();
    return undefined;
  }

  async #lookAtApplied(
    outputs: Outputs,
    feeds: readonly FlatBatch[],
    { isZero, isDue }: { readonly isZero: boolean; readonly isDue: boolean },
  ): Promise<readonly TensorUpdates[] | undefined> {
    if (isZero) await this.#warnOfUnderflow(outputs, feeds);
    return isDue ? this.#countUpdates(outputs, feeds) : undefined;
  }

  async #lookAtSkipped(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<undefined> {
    this.#warnOfScale(outputs);
    await this.#warnOfData(outputs, feeds);
    await this.#checkSkips(outputs, feeds);
  }

  /** Counts the updates and lost updates of the step that was just applied, on its first batch. */
  async #countUpdates(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<readonly TensorUpdates[]> {
    const [first] = feeds as readonly [FlatBatch];
    const replay = new Replay(this.inspected, first, -feeds.length);
    const { tensors } = await replay.own(numberIn(outputs, "scale"));
    if (shareUnchanged(tensors) > MOST_UNCHANGED)
      this.#options.warn({
        type: "numerics",
        message: `step: more than ${100 * MOST_UNCHANGED} % of the updates that are not 0 leave the weights as they were: keep weights in float32 (masterWeights: f32Master()); where they are, raise the learning rate, or clipNorm`,
        details: { updates: tensors },
      });
    return tensors;
  }

  #warnOfScale(outputs: Outputs): void {
    const { definition, warn } = this.#options;
    const fault = scaleFault(definition.precision.lossScaler, numberIn(outputs, "scale"));
    if (fault !== undefined) warn({ type: "numerics", message: fault });
  }

  #warnOfWeight(): void {
    const { definition, warn } = this.#options;
    const what = withObjective(definition, "step");
    warn({
      type: "data",
      message: `${what}: is not applied, since its total weight is 0: the loss counts nothing in it; check labels and masks`,
    });
  }

  /** Warns at the first step that leaves optimizer state below the range of its format. */
  #warnOfState(outputs: Outputs): void {
    const warning = this.#hasWarnedOfState ? undefined : stateBelowRange(outputs);
    if (warning === undefined) return;
    this.#hasWarnedOfState = true;
    this.#options.warn(warning);
  }

  /** Warns, for the first step whose gradients are all 0, if they are not 0 in float32. */
  async #warnOfUnderflow(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<void> {
    const { definition, warn } = this.#options;
    this.#hasSearchedUnderflow = true;
    if (lowDType(definition.precision.policy) === undefined) return;
    const { found } = await this.#search(feeds, outputs);
    if (found?.cause === "underflow")
      warn({
        type: "numerics",
        message: `step: every gradient is 0 at scale ${found.scale}; ${found.remedy}`,
        details: { remedies: found.remedies },
      });
  }

  /** Warns at the first skipped step whose batch has numbers that are not finite, or overflow in the half dtype. */
  async #warnOfData(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<void> {
    const { definition, warn } = this.#options;
    const dtype = lowDType(definition.precision.policy) ?? "f32";
    if (this.#hasSearchedData) return;
    // The search is compiled only where there is a number to be found.
    if (!feeds.some(({ inputs }) => Object.values(inputs).some((input) => isBeyond(input, dtype)))) return;
    this.#hasSearchedData = true;
    const { found } = await this.#search(feeds, outputs);
    if (found?.cause === "data" || (found?.op === "Cast" && found.phase === "forward"))
      warn({
        type: "data",
        message: `${withObjective(definition, "step")}: was skipped, first in ${formatAttribution(found)}; ${found.remedy}`,
      });
  }

  async #checkSkips(outputs: Outputs, feeds: readonly FlatBatch[]): Promise<void> {
    const skips = numberIn(outputs, "consecutiveSkips");
    if (skips <= this.#options.maxConsecutiveSkips) return;
    const [loss, gradNorm, scale] = ["loss", "gradNorm", "scale"].map((name) => numberIn(outputs, name));
    const { found, cause } = await this.#search(feeds, outputs);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const culprit =
      cause !== undefined
        ? `the last with loss ${loss}, gradient norm ${gradNorm} and scale ${scale}; where it began could not be found: ${reason}`
        : found === undefined
          ? "each of its batches is finite by itself"
          : `first in ${formatAttribution(found)}; ${found.remedy}`;
    throw new MpError(
      "MP_NON_FINITE",
      `${withObjective(this.#options.definition, "step")}: ${skips} steps in a row were not finite and were skipped, ${culprit}`,
      { details: { skips, loss, gradNorm, scale, diagnosis: found }, cause },
    );
  }

  /** Diagnoses the step that was just made. Does not throw, even if the engine cannot run the search. */
  async #search(
    feeds: readonly FlatBatch[],
    outputs: Outputs,
  ): Promise<{ readonly found?: Diagnosis | undefined; readonly cause?: unknown }> {
    try {
      return {
        found: await diagnose(this.inspected, feeds, { scale: numberIn(outputs, "scale"), isPast: true }),
      };
    } catch (cause) {
      return { cause };
    }
  }
}
