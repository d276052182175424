/** Runs an app on several ranks. With `--ranks N` the app starts itself N times through MPI's launcher. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import type { Ranks } from "@mp/core";
import type { CommonOptions } from "../common-flags.js";
import { type Flag, integer } from "../flag.js";
import { type AppContext, UsageError } from "../run-app.js";

export const ranksFlag: Flag<number> = integer({
  default: 1,
  help: "processes that train together through MPI, each on its part of the data",
});

export interface RanksOptions extends CommonOptions {
  readonly ranks: number;
}

/** The arguments of a run in one process of the job. */
export interface RankRun<O> {
  /** The options; on ranks other than 0 without `json`, which only rank 0 writes. */
  readonly options: O;
  /** Context that prints and shows progress on rank 0 only. */
  readonly context: AppContext;
  /** Ranks for the trainer; undefined in a single process. */
  readonly ranks: Ranks | undefined;
  /** Threads for the engine, so that all ranks together use the machine's cores. */
  readonly threads: number | undefined;
}

/** Environment variable that marks started processes. */
const STARTED = "MP_APP_RANKS";

/**
 * Runs an app in as many processes as `--ranks` says. An error on one rank ends all of them.
 * @throws UsageError for a flag that needs a single process, MP_BACKEND_UNAVAILABLE if MPI is not installed
 */
export async function onRanks<O extends RanksOptions>(
  options: O,
  context: AppContext,
  run: (part: RankRun<O>) => Promise<void>,
): Promise<void> {
  if (options.ranks === 1) return run({ options, context, ranks: undefined, threads: undefined });
  for (const name of ["report", "log"] as const)
    if (options[name] !== undefined) throw new UsageError(`--ranks: cannot be used with --${name}`);
  if (process.env[STARTED] === undefined) return startAgain(options.ranks);
  const { mpi } = await import("@mp/mpi");
  const ranks = await mpi();
  const threads = Math.max(1, Math.floor(availableParallelism() / ranks.size));
  const isFirst = ranks.rank === 0;
  const part = isFirst
    ? { options, context }
    : { options: { ...options, json: undefined }, context: silent(context) };
  try {
    await run({ ...part, ranks, threads });
  } catch (error) {
    ranks.abort(error);
  }
  await ranks.dispose();
}

/** Starts this command line again through the command of `@mp/mpi`. */
async function startAgain(size: number): Promise<void> {
  const manifest = createRequire(import.meta.url).resolve("@mp/mpi/package.json");
  const command = join(dirname(manifest), "bin", "mp-mpi.js");
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const child = spawn(process.execPath, [command, "run", "-n", String(size), ...again], {
    stdio: "inherit",
    env: { ...process.env, [STARTED]: String(size) },
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("exit", resolve);
  });
  // The command has printed the reason.
  if (code !== 0) process.exit(code ?? 1);
}

/** A context that prints nothing, for ranks that would repeat the lines of rank 0. */
function silent(context: AppContext): AppContext {
  const progress = { update: () => {}, note: () => {}, end: () => {} };
  return { ...context, print: () => {}, progress: () => progress };
}
