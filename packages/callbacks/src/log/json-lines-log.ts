import { checks } from "@mp/graph/internal";
import type { AnyCallback } from "../any-callback.js";
import { toJson } from "../json-number.js";
import { isPartialLine, LogFile } from "./log-file.js";
import { type LogLine, type LogOptions, type LogRow, logRows } from "./log-rows.js";

/**
 * Writes a line of JSON for each step and each validation: `event` (`step` or `validation`), `step`, `epoch`, and the
 * numbers by their names, such as `loss`, `scale`, `rates/default`, `milliseconds`; a number that is not finite is the
 * text `"NaN"`, `"Infinity"` or `"-Infinity"`. Each line is in the file before the next step begins. A resumed run
 * appends, and removes the lines of steps that it makes again; a new run begins the file again.
 * @throws MP_INVALID_ARGUMENT for invalid options; `fit` rejects with MP_INVALID_ARGUMENT for a file with other
 * content, and with MP_IO for a file that cannot be written
 */
export function jsonLinesLog(path: string, options: LogOptions = {}): AnyCallback {
  checks.path("jsonLinesLog: path", path);
  const file = new LogFile(path);
  return logRows("jsonLinesLog", path, {
    file,
    options,
    format: {
      parse: ({ lines, half }) => {
        if (lines.length === 0 && !isPartialLine(half, '{"event":"')) return undefined;
        const rows = lines.map(parseLine).filter((row) => row !== undefined);
        return rows.length === lines.length ? rows : undefined;
      },
      replace: (lines) => file.replace(lines),
      append: ({ event, step, epoch, scalars }) => {
        const numbers = Object.entries(scalars).map(([name, value]) => [name, toJson(value)]);
        file.append(JSON.stringify({ event, step, epoch, ...Object.fromEntries(numbers) }));
      },
    },
  });
}

function parseLine(line: string): LogLine | undefined {
  try {
    const { event, step } = JSON.parse(line) as LogRow;
    const isRow = Number.isSafeInteger(step) && (event === "step" || event === "validation");
    return isRow ? { line, event, step } : undefined;
  } catch {
    return undefined;
  }
}
