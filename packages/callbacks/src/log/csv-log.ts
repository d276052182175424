import { checks } from "@mp/core/internal";
import type { AnyCallback } from "../any-callback.js";
import { invalid } from "../invalid.js";
import { csvCells, csvLine } from "./csv-line.js";
import { isHalfOf, LogFile } from "./log-file.js";
import { isValidatedAt, keptRows, type LogOptions, type LogRow, type LogSink, logRows } from "./log-rows.js";

/** The columns of every file, in front of those of the numbers. */
const PLACE = ["event", "step", "epoch"] as const;
const BEGINNING = `${PLACE.join(",")},`;

/**
 * Writes a CSV file with a row for each step and each validation. Its columns are `event` (`step` or `validation`),
 * `step`, `epoch`, and the numbers by their names, such as `loss`, `scale`, `rates/default`, `milliseconds`; a row has
 * empty cells for numbers that its event lacks. Each row is in the file before the next step begins. A resumed run
 * appends, and removes the rows of steps that it makes again; a new run begins the file again.
 * @throws MP_INVALID_ARGUMENT for options; `fit` rejects with one for a file with other content, and with MP_IO for one
 * that cannot be written
 */
export function csvLog(path: string, options: LogOptions = {}): AnyCallback {
  checks.path("csvLog: path", path);
  return logRows("csvLog", path, new CsvSink(path), options);
}

class CsvSink implements LogSink {
  readonly #path: string;
  readonly #file: LogFile;
  #columns: readonly string[] = PLACE;

  constructor(path: string) {
    this.#path = path;
    this.#file = new LogFile(path);
  }

  open(step: number): { readonly isValidated: boolean } {
    const { lines: all, half } = this.#file.read();
    const [header, ...lines] = all;
    const isLog = header === undefined ? isHalfOf(half, BEGINNING) : `${header},`.startsWith(BEGINNING);
    if (!isLog) {
      throw invalid(`csvLog: ${this.#path} has other content than such a log; name another file`);
    }
    this.#columns = header === undefined || step === 0 ? PLACE : csvCells(header);
    const rows = lines.map((line) => ({ line, ...placeOf(line) }));
    const kept = keptRows(rows, step);
    this.#replace(kept.map(({ line }) => line));
    return { isValidated: isValidatedAt(step, kept) };
  }

  write({ event, step, epoch, scalars }: LogRow): void {
    const more = Object.keys(scalars).filter((name) => !this.#columns.includes(name));
    if (more.length > 0) this.#widen(more);
    const row: Readonly<Record<string, unknown>> = { ...scalars, event, step, epoch };
    this.#file.append(csvLine(this.#columns.map((name) => String(row[name] ?? ""))));
  }

  close(): void {
    this.#file.close();
  }

  /** Once for the first step and once for the first validation. */
  #widen(more: readonly string[]): void {
    const [, ...lines] = this.#file.read().lines;
    this.#columns = [...this.#columns, ...more];
    this.#replace(lines.map((line) => `${line}${",".repeat(more.length)}`));
  }

  #replace(lines: readonly string[]): void {
    this.#file.replace([csvLine(this.#columns), ...lines]);
  }
}

function placeOf(line: string): Pick<LogRow, "event" | "step"> {
  const [event, step] = line.split(",", 2);
  return { event: event as LogRow["event"], step: Number(step) };
}
