import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { MpError } from "@mp/graph";
import { cacheFolder, ownCommand } from "@mp/wheels/own-place";
import { VERSION } from "./release.js";

/** The shell command of this package. */
export const mpiCommand = (moduleUrl: string): string => ownCommand("mp-mpi", moduleUrl);

export const MPI_COMMAND: string = mpiCommand(import.meta.url);
/** The command that installs MPI's library. */
export const INSTALL_COMMAND: string = `${MPI_COMMAND} install`;

/** The library's full name. Wheels store symbolic links as text, so `libmpi_abi.so` is not a library. */
export const LIBRARY_FILE = "libmpi_abi.so.1";

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder, with `bin` and `lib`, into which `mp-mpi install` puts MPI. */
export const installFolder = (environment: Environment): string =>
  join(cacheFolder("mpi", environment), `mpich-${VERSION}`);

/** The error for a missing library or launcher, with `mp-mpi install` as the remedy. */
export const notInstalled = (message: string, details: object = {}, cause?: unknown): MpError =>
  new MpError("MP_BACKEND_UNAVAILABLE", message, {
    details: { ...details, install: INSTALL_COMMAND },
    cause,
  });

/**
 * Locates MPI's library: the given path, the value of MP_MPI_LIBRARY, or the path where `mp-mpi install` puts
 * it. Checks that the file exists. (A loader that gets no path opens the running program.)
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
