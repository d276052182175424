import { resolve } from "node:path";
import type { FitPosition } from "@mp/core/fit";
import { checks, invalid, readOptions, withDefault } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { readScalars, type Scalars } from "../scalars.js";
import type { LogContent, LogFile } from "./log-file.js";

/** Options of `csvLog` and `jsonLinesLog`. */
export interface LogOptions {
  /** Iterations between rows; default 1. Validations are always written. */
  readonly every?: number;
}

export type LogEvent = "step" | "validation";

/** The row that a log writes for a step or a validation. */
export interface LogRow {
  readonly event: LogEvent;
  /** Iterations since the start of the run. */
  readonly step: number;
  /** Complete passes over the data. */
  readonly epoch: number;
  /** The event's numbers by name. */
  readonly scalars: Scalars;
}

/** A row as a line of a file. */
export interface LogLine extends Pick<LogRow, "event" | "step"> {
  readonly line: string;
}

/** Reads and writes rows as lines of a file. */
export interface LogFormat {
  /** Parses the rows of a file; undefined if it has other content. With `isNew`, a new run begins and keeps no row. */
  parse(content: LogContent, isNew: boolean): readonly LogLine[] | undefined;
  /** Replaces the rows of the file. */
  replace(lines: readonly string[]): void;
  append(row: LogRow): void;
}

const OPTIONS = { every: withDefault(1, checks.count) };

/** Paths of the logs that this process is writing, because the rows of two runs must not be mixed in one file. */
const open = new Set<string>();

export interface LogParts {
  readonly file: LogFile;
  readonly format: LogFormat;
  readonly options: LogOptions;
}

/** Makes a callback that writes rows to a file. Its messages begin with `owner`. */
export function logRows(owner: string, path: string, { file, format, options }: LogParts): AnyCallback {
  const { every } = readOptions<LogOptions, typeof OPTIONS>(owner, options, OPTIONS, {
    example: "{ every: 10 }",
  });
  const absolute = resolve(path);
  let validatedAt = -1;
  let isOpen = false;
  return {
    onStart: ({ step }) => {
      if (open.has(absolute)) {
        throw invalid(`${owner}: another log of this process writes ${path}; name another file`);
      }
      open.add(absolute);
      isOpen = true;
      const rows = format.parse(file.read(), step === 0);
      if (rows === undefined)
        throw invalid(`${owner}: ${path} has other content than such a log; name another file`);
      // The run makes later steps again.
      const kept = rows.filter((row) => row.step <= step && step > 0);
      format.replace(kept.map(({ line }) => line));
      // If the checkpoint was saved between a step and its validation, the run repeats the validation.
      validatedAt = kept.some((row) => row.event === "validation" && row.step === step) ? step : -1;
    },
    onStep: (result: FitPosition) => {
      const { step, epoch, milliseconds } = result;
      if (step % every !== 0) return;
      format.append({ event: "step", step, epoch, scalars: { milliseconds, ...readScalars(result) } });
    },
    onValidation: (result) => {
      const { step, epoch } = result;
      if (step === validatedAt) return;
      format.append({ event: "validation", step, epoch, scalars: readScalars(result) });
    },
    onEnd: () => {
      if (!isOpen) return;
      isOpen = false;
      open.delete(absolute);
      file.close();
    },
  };
}
