import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, ownCommand } from "@mp/wheels/own-place";
import { PLUGIN_FILE, type ReleaseName, VERSION } from "./release.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The command that installs a release. */
export const installCommand = (name: ReleaseName): string =>
  `${ownCommand("mp-libxla", import.meta.url)} install ${name}`;

/** The folder in which the command puts a release. */
export const releaseFolder = (name: ReleaseName, environment: Environment): string =>
  join(cacheFolder("libxla", environment), `${name}-${VERSION}`);

/** The path of the plugin of a release; undefined if it is not installed. */
export function locateInstalled(name: ReleaseName, environment: Environment): string | undefined {
  const path = join(releaseFolder(name, environment), PLUGIN_FILE);
  return existsSync(path) ? path : undefined;
}
