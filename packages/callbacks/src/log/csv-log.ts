import { checks } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { csvCells, csvLine } from "./csv-line.js";
import { isPartialLine, LogFile } from "./log-file.js";
import { type LogEvent, type LogFormat, type LogOptions, logRows } from "./log-rows.js";

/** The first columns of every file; a column for each logged number follows. */
const FIRST_COLUMNS = ["event", "step", "epoch"] as const;
const BEGINNING = `${FIRST_COLUMNS.join(",")},`;

/**
 * Writes a CSV file with a row for each step and each validation. Its columns are `event` (`step` or `validation`),
 * `step`, `epoch`, and the numbers by their names, such as `loss`, `scale`, `rates/default`, `milliseconds`; cells of
 * numbers that an event lacks are empty. Each row is in the file before the next step begins. A resumed run appends, and
 * removes the rows of steps that it makes again; a new run begins the file again.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with MP_INVALID_ARGUMENT for a file with other
 * content, and with MP_IO for a file that cannot be written
 */
export function csvLog(path: string, options: LogOptions = {}): AnyCallback {
  checks.path("csvLog: path", path);
  const file = new LogFile(path);
  return logRows("csvLog", path, { file, format: csvFormat(file), options });
}

function csvFormat(file: LogFile): LogFormat {
  let columns: readonly string[] = FIRST_COLUMNS;
  const replace = (lines: readonly string[]): void => file.replace([csvLine(columns), ...lines]);
  return {
    replace,
    parse: ({ lines: [header, ...lines], half }, isNew) => {
      const isLog =
        header === undefined ? isPartialLine(half, BEGINNING) : `${header},`.startsWith(BEGINNING);
      if (!isLog) return undefined;
      columns = header === undefined || isNew ? FIRST_COLUMNS : csvCells(header);
      return lines.map((line) => {
        const [event, step] = line.split(",", 2);
        return { line, event: event as LogEvent, step: Number(step) };
      });
    },
    append: ({ scalars, ...row }) => {
      const added = Object.keys(scalars).filter((name) => !columns.includes(name));
      // Happens at the first step and at the first validation.
      if (added.length > 0) {
        const [, ...lines] = file.read().lines;
        columns = [...columns, ...added];
        replace(lines.map((line) => `${line}${",".repeat(added.length)}`));
      }
      const cells: Readonly<Record<string, unknown>> = { ...scalars, ...row };
      file.append(csvLine(columns.map((name) => String(cells[name] ?? ""))));
    },
  };
}
