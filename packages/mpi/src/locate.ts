import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MpError } from "@mp/core";
import { VERSION } from "./release.js";

/**
 * The command by the place of this package: installed, npx finds it and with `--no` never fetches a stranger's package of
 * that name; in a checkout it is the file, which runs from any folder.
 */
export function mpiCommand(moduleUrl: string): string {
  if (moduleUrl.includes("/node_modules/")) return "npx --no mp-mpi";
  return `node ${fileURLToPath(new URL("../bin/mp-mpi.js", moduleUrl))}`;
}

export const MPI_COMMAND: string = mpiCommand(import.meta.url);
/** The command that installs a missing library. */
export const INSTALL_COMMAND: string = `${MPI_COMMAND} install`;

/** With its number: wheels keep symbolic links as texts, so that `libmpi_abi.so` is not a library. */
export const LIBRARY_FILE = "libmpi_abi.so.1";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder in which `mp-mpi install` puts MPI: a folder with `bin` and `lib`. Only an absolute XDG_CACHE_HOME counts.
 */
export function installedFolder(environment: Environment): string {
  const { XDG_CACHE_HOME: given = "" } = environment;
  return join(given.startsWith("/") ? given : join(homedir(), ".cache"), "mp", "mpi", `mpich-${VERSION}`);
}

/**
 * The library: the one given, the value of MP_MPI_LIBRARY, or the one that `mp-mpi install` put into the cache. The path
 * is checked here because a loader that gets none opens the running program instead.
 * @throws MP_BACKEND_UNAVAILABLE when there is none, MP_INVALID_ARGUMENT for a relative path
 */
export function locateLibrary(given: string | undefined, environment: Environment): string {
  const { MP_MPI_LIBRARY: fromEnvironment } = environment;
  const named = [
    { name: "library", path: given },
    { name: "MP_MPI_LIBRARY", path: fromEnvironment },
  ].find(({ path }) => path !== undefined && path !== "");
  if (named?.path !== undefined) return existing(named.name, named.path);
  const installed = join(installedFolder(environment), "lib", LIBRARY_FILE);
  if (existsSync(installed)) return installed;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `MPI: ${LIBRARY_FILE} is not installed, ${installed} does not exist; install it with: ${INSTALL_COMMAND}, or name the library of your MPI in MP_MPI_LIBRARY`,
    { details: { file: installed, install: INSTALL_COMMAND } },
  );
}

function existing(name: string, path: string): string {
  if (!isAbsolute(path))
    throw new MpError("MP_INVALID_ARGUMENT", `${name}: an absolute path is needed, got "${path}"`);
  if (existsSync(path)) return path;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${name}: ${path} does not exist; install MPI with: ${INSTALL_COMMAND}`,
    {
      details: { file: path, install: INSTALL_COMMAND },
    },
  );
}
