/** Locates the command of an installing package, and its folder in the user's cache. */
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The shell command of a package. If the package is installed, npx finds it and, with `--no`, never fetches a stranger's
 * package of that name. In a checkout the command names the file and works from any folder.
 * @param name of the command, whose file is in `bin`
 * @param moduleUrl of a module in the package's `src` or `dist`
 */
export function ownCommand(name: string, moduleUrl: string): string {
  if (moduleUrl.includes("/node_modules/")) return `npx --no ${name}`;
  return `node ${fileURLToPath(new URL(`../bin/${name}.js`, moduleUrl))}`;
}

/** The folder `name` in the user's cache. Ignores a relative XDG_CACHE_HOME. */
export function cacheFolder(
  name: string,
  { XDG_CACHE_HOME: given = "" }: Readonly<Record<string, string | undefined>>,
): string {
  return join(given.startsWith("/") ? given : join(homedir(), ".cache"), "mp", name);
}
