import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PLUGIN_FILE, type ReleaseName, VERSION } from "./release.js";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The shell command of this package. If the package is installed, npx finds it and, with `--no`, never fetches a
 * stranger's package of that name. In a checkout the command names the file and works from any folder.
 */
function libraryCommand(moduleUrl: string): string {
  if (moduleUrl.includes("/node_modules/")) return "npx --no mp-libxla";
  return `node ${fileURLToPath(new URL("../bin/mp-libxla.js", moduleUrl))}`;
}

/** The command that installs a release. */
export const installCommand = (name: ReleaseName): string =>
  `${libraryCommand(import.meta.url)} install ${name}`;

/** The folder in the user's cache for plugins and what is compiled. Ignores a relative XDG_CACHE_HOME. */
function cacheFolder({ XDG_CACHE_HOME: given = "" }: Environment): string {
  return join(given.startsWith("/") ? given : join(homedir(), ".cache"), "mp", "libxla");
}

/** The folder in which the command puts a release. */
export const releaseFolder = (name: ReleaseName, environment: Environment): string =>
  join(cacheFolder(environment), `${name}-${VERSION}`);

/** The path of the plugin of a release; undefined if it is not installed. */
export function locateInstalled(name: ReleaseName, environment: Environment): string | undefined {
  const path = join(releaseFolder(name, environment), PLUGIN_FILE);
  return existsSync(path) ? path : undefined;
}
