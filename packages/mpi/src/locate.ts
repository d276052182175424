import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MpError } from "@mp/graph";
import { VERSION } from "./release.js";

/**
 * The shell command `mp-mpi`. If this package is installed, npx finds it and, with `--no`, never fetches a stranger's
 * package of that name. In a checkout the command names the file and works from any folder.
 */
export function mpiCommand(moduleUrl: string): string {
  if (moduleUrl.includes("/node_modules/")) return "npx --no mp-mpi";
  return `node ${fileURLToPath(new URL("../bin/mp-mpi.js", moduleUrl))}`;
}

export const MPI_COMMAND: string = mpiCommand(import.meta.url);
/** The command that installs MPI's library. */
export const INSTALL_COMMAND: string = `${MPI_COMMAND} install`;

/** Name of the library with its number: wheels store symbolic links as text, so `libmpi_abi.so` is not a library. */
export const LIBRARY_FILE = "libmpi_abi.so.1";

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder, with `bin` and `lib`, into which `mp-mpi install` puts MPI. Ignores a relative XDG_CACHE_HOME. */
export function installFolder(environment: Environment): string {
  const { XDG_CACHE_HOME: given = "" } = environment;
  return join(given.startsWith("/") ? given : join(homedir(), ".cache"), "mp", "mpi", `mpich-${VERSION}`);
}

/** The error for a missing library or launcher, with `mp-mpi install` as the remedy. */
export const notInstalled = (message: string, details: object = {}, cause?: unknown): MpError =>
  new MpError("MP_BACKEND_UNAVAILABLE", message, {
    details: { ...details, install: INSTALL_COMMAND },
    cause,
  });

/**
 * Locates MPI's library: the given path, the value of MP_MPI_LIBRARY, or the path where `mp-mpi install` puts it.
 * Checks that it exists, because the system's loader opens the running program if it gets no path.
 * @throws MP_BACKEND_UNAVAILABLE if there is none, MP_INVALID_ARGUMENT for a relative path
 */
export function locateLibrary(given: string | undefined, environment: Environment): string {
  const { MP_MPI_LIBRARY: fromEnvironment } = environment;
  const named = [
    { name: "library", path: given },
    { name: "MP_MPI_LIBRARY", path: fromEnvironment },
  ].find(({ path }) => path !== undefined && path !== "");
  if (named?.path !== undefined) return existing(named.name, named.path);
  const installed = join(installFolder(environment), "lib", LIBRARY_FILE);
  if (existsSync(installed)) return installed;
  throw notInstalled(
    `MPI: ${LIBRARY_FILE} is not installed, ${installed} does not exist; install it with: ${INSTALL_COMMAND}, or name the library of your MPI in MP_MPI_LIBRARY`,
    { file: installed },
  );
}

function existing(name: string, path: string): string {
  if (!isAbsolute(path))
    throw new MpError("MP_INVALID_ARGUMENT", `${name}: an absolute path is needed, got "${path}"`);
  if (existsSync(path)) return path;
  throw notInstalled(`${name}: ${path} does not exist; install MPI with: ${INSTALL_COMMAND}`, { file: path });
}
