import type { MpError } from "@mp/core";
import { checks } from "@mp/core/internal";
import type { AnyCallback } from "../any-callback.js";
import { invalid } from "../invalid.js";
import { toJson } from "../json-number.js";
import { isHalfOf, LogFile } from "./log-file.js";
import { isValidatedAt, keptRows, type LogOptions, type LogRow, logRows } from "./log-rows.js";

/**
 * Writes a line of JSON for each step and each validation: `event` (`step` or `validation`), `step`, `epoch`, and the
 * numbers by their names, such as `loss`, `scale`, `rates/default`, `milliseconds`; a number that is not finite is the
 * text `"NaN"`, `"Infinity"` or `"-Infinity"`. Each line is in the file before the next step begins. A resumed run
 * appends, and removes the lines of steps that it makes again; a new run begins the file again.
 * @throws MP_INVALID_ARGUMENT for options; `fit` rejects with one for a file with other content, and with MP_IO for one
 * that cannot be written
 */
export function jsonLinesLog(path: string, options: LogOptions = {}): AnyCallback {
  checks.path("jsonLinesLog: path", path);
  const file = new LogFile(path);
  return logRows(
    "jsonLinesLog",
    path,
    {
      open: (step) => {
        const { lines, half } = file.read();
        if (lines.length === 0 && !isHalfOf(half, '{"event":"')) throw foreign(path);
        const rows = lines.map((line) => ({ line, ...placeOf(line, path) }));
        const kept = keptRows(rows, step);
        file.replace(kept.map(({ line }) => line));
        return { isValidated: isValidatedAt(step, kept) };
      },
      write: ({ event, step, epoch, scalars }) => {
        const numbers = Object.entries(scalars).map(([name, value]) => [name, toJson(value)]);
        file.append(JSON.stringify({ event, step, epoch, ...Object.fromEntries(numbers) }));
      },
      close: () => file.close(),
    },
    options,
  );
}

function placeOf(line: string, path: string): Pick<LogRow, "event" | "step"> {
  try {
    const { event, step } = JSON.parse(line) as LogRow;
    if (Number.isSafeInteger(step) && (event === "step" || event === "validation")) return { event, step };
  } catch {}
  throw foreign(path);
}

const foreign = (path: string): MpError<"MP_INVALID_ARGUMENT"> =>
  invalid(`jsonLinesLog: ${path} has other content than such a log; name another file`);
