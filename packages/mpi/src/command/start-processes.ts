import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { MpError } from "@mp/graph";
import { INSTALL_COMMAND, installFolder, notInstalled } from "../locate.js";

export interface StartOptions {
  readonly processes: string;
  /** The command with its arguments. */
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs a command in several processes on this machine, with this process's terminal.
 * @returns the launcher's exit code
 * @throws MP_INVALID_ARGUMENT for an invalid number of processes, MP_BACKEND_UNAVAILABLE if there is no launcher
 */
export function startProcesses({ processes, words, environment }: StartOptions): Promise<number> {
  if (!/^[1-9]\d*$/.test(processes))
    throw new MpError("MP_INVALID_ARGUMENT", `-n: a number of processes is needed, got "${processes}"`);
  const launcher = launcherIn(environment);
  return new Promise((resolve, reject) => {
    const child = spawn(launcher, ["-n", processes, ...words], { stdio: "inherit", env: { ...environment } });
    // Ctrl-C reaches the launcher by itself; this process stays to return its exit code.
    const stay = (): void => {};
    const pass = (): void => void child.kill("SIGTERM");
    process.on("SIGINT", stay).on("SIGTERM", pass);
    child.on("error", (cause) =>
      reject(
        new MpError("MP_BACKEND_UNAVAILABLE", `${launcher} does not start (${cause.message})`, { cause }),
      ),
    );
    child.on("exit", (code, signal) => {
      process.off("SIGINT", stay).off("SIGTERM", pass);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}

/** Finds the launcher of the MPI library in use, as processes of another MPI's launcher do not find each other. */
function launcherIn(environment: StartOptions["environment"]): string {
  const { MP_MPIEXEC: named = "", MP_MPI_LIBRARY: library = "", PATH: path = "" } = environment;
  if (named !== "") {
    if (existsSync(named)) return named;
    throw unavailable(`MP_MPIEXEC: ${named} does not exist`);
  }
  const installed = join(installFolder(environment), "bin", "mpiexec");
  if (library === "" && existsSync(installed)) return installed;
  const found = path
    .split(delimiter)
    .map((folder) => join(folder, "mpiexec"))
    .find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw unavailable(`there is no mpiexec, ${installed} does not exist and none is on PATH`);
}

const unavailable = (problem: string): MpError =>
  notInstalled(`MPI: ${problem}; install it with: ${INSTALL_COMMAND}`);
