import { resolve } from "node:path";
import type { FitEpoch, FitPosition } from "@mp/core/fit";
import { checks, readOptions, withDefault } from "@mp/core/internal";
import type { AnyCallback } from "../any-callback.js";
import { invalid } from "../invalid.js";
import { type Scalars, scalarsOf } from "../scalars.js";

/** Options of `csvLog` and `jsonLinesLog`. */
export interface LogOptions {
  /** Writes every so many iterations; default 1. Validations are always written. */
  readonly every?: number;
}

export type LogEvent = "step" | "validation";

/** The row that a log writes for a step or a validation. */
export interface LogRow {
  readonly event: LogEvent;
  /** Iterations since the start of the run. */
  readonly step: number;
  /** Passes over the data before. */
  readonly epoch: number;
  /** The event's numbers by name. */
  readonly scalars: Scalars;
}

/** The destination of rows. */
export interface LogSink {
  /**
   * Opens it for the rows after so many iterations: those of later steps are removed, since the run makes these steps
   * again. Returns the validations that it has of this very step.
   */
  open(step: number): { readonly isValidated: boolean };
  write(row: LogRow): void;
  close(): void;
}

/** The rows of a file that a run keeps when it goes on after `step` iterations: a new run keeps none. */
export function keptRows<R extends Pick<LogRow, "step">>(rows: readonly R[], step: number): readonly R[] {
  return rows.filter((row) => row.step <= step && step > 0);
}

/** Whether a validation of that very step is among the rows. */
export function isValidatedAt(step: number, rows: readonly Pick<LogRow, "event" | "step">[]): boolean {
  return rows.some((row) => row.event === "validation" && row.step === step);
}

const OPTIONS = { every: withDefault(1, checks.count) };

/** The files that logs of this process write: rows of two runs in one would be those of neither. */
const written = new Set<string>();

/** The callback that writes rows to a sink, which is a file. */
export function logRows(owner: string, path: string, sink: LogSink, options: LogOptions): AnyCallback {
  const file = resolve(path);
  const { every } = readOptions<LogOptions, typeof OPTIONS>(owner, options, OPTIONS, {
    example: "{ every: 10 }",
  });
  let validatedAt = -1;
  let isOpen = false;
  return {
    onStart: ({ step }) => {
      if (written.has(file)) {
        throw invalid(`${owner}: another log of this process writes ${path}; name another file`);
      }
      written.add(file);
      isOpen = true;
      // A checkpoint that was saved between a step and its validation: the run repeats the validation.
      validatedAt = sink.open(step).isValidated ? step : -1;
    },
    onStep: (step: FitPosition) => {
      if (step.step % every !== 0) return;
      const { milliseconds } = step;
      sink.write({ ...placed("step", step), scalars: { milliseconds, ...scalarsOf(step) } });
    },
    onValidation: (validation) => {
      if (validation.step === validatedAt) return;
      sink.write({ ...placed("validation", validation), scalars: scalarsOf(validation) });
    },
    onEnd: () => {
      if (!isOpen) return;
      isOpen = false;
      written.delete(file);
      sink.close();
    },
  };
}

const placed = (event: LogEvent, { step, epoch }: FitEpoch): Omit<LogRow, "scalars"> => ({
  event,
  step,
  epoch,
});
