import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { MpError } from "@mp/graph";
import {
  INSTALL_COMMAND,
  locatePackage,
  packageAt,
  packagesFor,
  type TfjsPackage,
} from "./locate-package.js";

/** The sources that the addon is compiled from. */
export const ADDON_SOURCES: readonly string[] = ["tfjs_backend.cc", "tfjs_binding.cc"];

/**
 * The tfjs-node to work on: the given folder, or the one that a program in the working directory would import.
 * @throws MP_BACKEND_UNAVAILABLE if it is not installed or lacks the addon's sources
 * @throws MP_INVALID_ARGUMENT if the given folder is not a tfjs-node
 */
export function targetPackage(options: {
  readonly folder: string | undefined;
  readonly workingDirectory: string;
  readonly device: "cpu" | "cuda";
}): TfjsPackage {
  const names = packagesFor(options.device);
  if (options.folder !== undefined)
    return packageIn(resolve(options.workingDirectory, options.folder), names);
  const found = locatePackage(names, [options.workingDirectory]);
  if (found !== undefined) return found;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${names[0]} is not installed where ${options.workingDirectory} would find it; install it with: ${INSTALL_COMMAND} (without that flag its own script downloads from servers of its own, and the whole install fails where they are out of reach), or name its folder with --package`,
    { details: { packages: names, install: INSTALL_COMMAND } },
  );
}

function packageIn(folder: string, names: readonly string[]): TfjsPackage {
  let found: TfjsPackage | undefined;
  try {
    found = packageAt(realpathSync(folder));
  } catch {
    // Reported below.
  }
  if (found !== undefined && names.includes(found.name)) return found;
  const given = found === undefined ? "no readable package.json" : `the package ${String(found.name)}`;
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `--package: the folder of ${names.join(" or ")} is needed, ${folder} holds ${given}`,
    { details: { folder } },
  );
}

/** @throws MP_BACKEND_UNAVAILABLE if a source of the addon is missing */
export function requireSources({ name, version, folder }: TfjsPackage): void {
  const missing = ADDON_SOURCES.map((file) => join(folder, "binding", file)).filter(
    (file) => !existsSync(file),
  );
  if (missing.length === 0) return;
  throw new MpError(
    "MP_BACKEND_UNAVAILABLE",
    `${name} ${version} lacks the sources of its addon, ${missing.join(", ")}; install it again with: ${INSTALL_COMMAND}`,
    { details: { missing, install: INSTALL_COMMAND } },
  );
}
