export interface Ended {
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface AppRunner {
  /** A folder for the files of tests, which lasts until `dispose`. */
  readonly folder: string;
  /** Ends as the process would. Runs must not overlap. */
  readonly run: (...flags: readonly string[]) => Promise<Ended>;
  /** The result that a run writes by `--json`, and what it prints. @throws unless the run succeeds */
  // biome-ignore lint/suspicious/noExplicitAny: the results of apps differ
  readonly result: (...flags: readonly string[]) => Promise<any>;
  /** The runs, each by its flags, that do not end with exit code 2 and one line on standard error. */
  readonly notRefused: (cases: readonly (readonly string[])[]) => Promise<readonly Ended[]>;
  /** Runs the app in a process of its own, which gets Ctrl-C at its first step. Returns the exit code. */
  readonly interrupted: (...flags: readonly string[]) => number | null;
  readonly dispose: () => void;
}

/** Runs an app's built program, `dist/main.js`. The flags in `common` come before those of each run. */
export function appRunner(main: URL, common?: readonly string[]): AppRunner;
