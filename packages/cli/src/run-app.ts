import { type ProgressDisplay, type ProgressDisplayOptions, progressDisplay } from "@mp/callbacks";
import { type AppDefinition, type AppOptions, parseCommandLine } from "./command-line.js";
import type { Flags } from "./flag.js";
import { catchInterrupts } from "./interrupt.js";

/** The second argument of an app's `main`. */
export interface AppContext {
  /** Name of the app. */
  readonly name: string;
  /** Aborted by Ctrl-C: `main` should finish the step, save the state if `--save` is given, and return. */
  readonly signal: AbortSignal;
  /** Starts a progress report and ends the previous one. */
  progress(options: ProgressDisplayOptions): ProgressDisplay;
  /** Writes a result to standard output. */
  print(text: string): void;
  /**
   * Runs an action that may fail, such as writing a file, without losing the rest of the run. If the action fails,
   * prints one line on standard error, and the app ends with exit code 1.
   */
  attempt(what: string, action: () => void | Promise<void>): Promise<void>;
}

/** An impossible command line: exits with code 2 and one line on standard error. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const EXIT_FAILED = 1;
const EXIT_REFUSED = 2;
/** Error codes that mean a refused input if the error comes before the first step. */
const INPUT_CODES = new Set(["MP_INVALID_ARGUMENT", "MP_IO", "MP_PARSE", "MP_CHECKPOINT_MISMATCH"]);

/**
 * Runs an app's `main` with the process's command line and sets the exit code: 0 for success, 1 for a failure, 2 if
 * the command line or an input was refused, 128 + n if signal n stopped the app.
 */
export async function runApp<const F extends Flags>(
  definition: AppDefinition<F>,
  main: (options: AppOptions<F>, context: AppContext) => Promise<void>,
  argv: readonly string[] = process.argv.slice(2),
): Promise<void> {
  endQuietlyWithoutReader();
  const parsed = parseCommandLine(definition, argv);
  if (parsed.kind === "help") {
    process.stdout.write(parsed.text);
    return;
  }
  if (parsed.kind === "refused") {
    complain(definition, `${parsed.message}; --help lists the flags`);
    process.exitCode = EXIT_REFUSED;
    return;
  }
  let shown: ProgressDisplay | undefined;
  let started = false;
  let failed = false;
  const say = (line: string): void => (shown ? shown.note(line) : complain(definition, line));
  const interrupt = catchInterrupts((signal) =>
    say(`${signal}: stopping after this step; once more to stop at once`),
  );
  const context: AppContext = {
    name: definition.name,
    signal: interrupt.signal,
    progress: (options) => {
      shown?.end();
      const begun = progressDisplay(options);
      shown = {
        ...begun,
        update: (update) => {
          started = true;
          begun.update(update);
        },
      };
      return shown;
    },
    print: (text) => {
      shown?.end();
      shown = undefined;
      process.stdout.write(`${text}\n`);
    },
    attempt: async (what, action) => {
      try {
        await action();
      } catch (error) {
        failed = true;
        say(`${what}: ${errorText(error)}`);
      }
    },
  };
  try {
    await main(parsed.options, context);
    shown?.end();
    process.exitCode = interrupt.exitCode() ?? (failed ? EXIT_FAILED : 0);
  } catch (error) {
    shown?.end();
    process.exitCode = report(definition, error, started);
  } finally {
    interrupt.release();
  }
}

function report(definition: AppDefinition, error: unknown, started: boolean): number {
  complain(definition, errorText(error));
  if (error instanceof UsageError) return EXIT_REFUSED;
  return !started && INPUT_CODES.has(mpErrorCode(error) ?? "") ? EXIT_REFUSED : EXIT_FAILED;
}

/** Text for an error: one line if it is expected, otherwise the whole stack. */
function errorText(error: unknown): string {
  if (error instanceof UsageError || isOfSystem(error)) return error.message;
  const code = mpErrorCode(error);
  if (code !== undefined) return `${(error as Error).message} (${code})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Whether a value is a system error, such as a full disk, whose message names the path. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && "errno" in error && "syscall" in error;
}

/** The code of an `MpError`, also of an error from another copy of the SDK. */
function mpErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "MpError") return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

function complain({ name }: AppDefinition, line: string): void {
  process.stderr.write(`${name}: ${line}\n`);
}

/** Ends the process quietly if its output is closed, as in `app | head`. */
function endQuietlyWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}
