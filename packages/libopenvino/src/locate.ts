import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { MpError } from "@mp/graph";
import * as own from "@mp/wheels/own-place";
import { LIBRARY_FILE, RELEASE } from "./release.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The shell command of this package. */
export const libraryCommand = (moduleUrl: string): string => own.ownCommand("mp-libopenvino", moduleUrl);

/** The command that installs OpenVINO's library. */
export const LIBRARY_COMMAND: string = libraryCommand(import.meta.url);

/** The folder in the user's cache for the library and findings about it. */
export const cacheFolder = (environment: Environment): string => own.cacheFolder("libopenvino", environment);

/** The folder in which the command puts the library. */
export const libraryFolder = (environment: Environment): string =>
  join(cacheFolder(environment), `openvino-${RELEASE}`);

/**
 * Locates the library of the C interface: the given path, the value of MP_OPENVINO, or the path where the
 * command installs it. Checks that the file exists. (A loader that gets no path opens the running program.)
 * @throws MP_BACKEND_UNAVAILABLE if there is none, MP_INVALID_ARGUMENT for a relative path
 */
export function locateLibrary(given: string | undefined, environment: Environment): string {
  const { MP_OPENVINO: fromEnvironment } = environment;
  const named = [
    { name: "library", path: given },
    { name: "MP_OPENVINO", path: fromEnvironment },
  ].find(({ path }) => path !== undefined && path !== "");
  if (named?.path !== undefined) return existing(named.name, named.path);
  const installed = join(libraryFolder(environment), LIBRARY_FILE);
  if (existsSync(installed)) return installed;
  throw unavailable(`it is not installed, ${installed} does not exist`, installed);
}

function existing(name: string, path: string): string {
  if (!isAbsolute(path))
    throw new MpError("MP_INVALID_ARGUMENT", `openvino: ${name} must be an absolute path, got "${path}"`);
  if (existsSync(path)) return path;
  throw unavailable(`${name} names ${path}, which does not exist`, path);
}

const unavailable = (problem: string, file: string): MpError =>
  new MpError("MP_BACKEND_UNAVAILABLE", `OpenVINO: ${problem}; install it with: ${LIBRARY_COMMAND}`, {
    details: { file, install: LIBRARY_COMMAND },
  });
