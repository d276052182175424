import { checks, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { isApplied, readLosses, readScalars } from "../scalars.js";
import { type ProgressDisplay, type ProgressStream, progressDisplay } from "./progress-display.js";
import { formatNumber } from "./progress-line.js";

/** Options of `progress`: a label, and the stream. */
export interface ProgressOptions {
  /** Name of the run, at the beginning of the line; default `training`. */
  readonly label?: string;
  /** The stream that shows the line; default standard error. */
  readonly stream?: ProgressStream;
}

const OPTIONS = {
  label: withDefault("training", checks.text),
  stream: checks.optional(checks.object),
};

/**
 * Shows the step, the loss, the loss scale, skipped steps, steps per second and the time left: a bar on a terminal, a
 * plain line every five seconds elsewhere, such as in a CI log. Each validation is a line that stays. With `epochs` the
 * time left is known from the second pass on.
 * @throws MP_INVALID_ARGUMENT for invalid options
 */
export function progress(options: ProgressOptions = {}): AnyCallback {
  const { label, stream } = readOptions<ProgressOptions, typeof OPTIONS>("progress", options, OPTIONS, {
    example: '{ label: "training" }',
  });
  let display: ProgressDisplay | undefined;
  let total: number | undefined;
  let epochs: number | undefined;
  let passBegan: number | undefined;
  let skipped = 0;
  return {
    onStart: (start) => {
      display = progressDisplay({ label }, stream);
      total = start.steps;
      epochs = start.steps === undefined ? start.epochs : undefined;
      // A resumed run may begin in the middle of a pass, whose length is then unknown.
      passBegan = start.step === 0 ? 0 : undefined;
      skipped = 0;
    },
    onStep: (step) => {
      if (!isApplied(step)) skipped++;
      const { scale } = readScalars(step);
      display?.update({
        step: step.step,
        loss: readLosses(step),
        skipped,
        total,
        ...(scale === undefined ? {} : { scale }),
        ...(epochs === undefined ? {} : { pass: [step.epoch + 1, epochs] as const }),
      });
    },
    onValidation: (validation) => {
      const facts = Object.entries(readScalars(validation)).map(
        ([name, it]) => `, ${name} ${formatNumber(it)}`,
      );
      display?.note(`${label}: validation at step ${validation.step}${facts.join("")}`);
    },
    onEpoch: ({ step, epoch }) => {
      if (epochs !== undefined && passBegan !== undefined) {
        total = step + (epochs - epoch - 1) * (step - passBegan);
      }
      passBegan = step;
    },
    onEnd: () => display?.end(),
  };
}
