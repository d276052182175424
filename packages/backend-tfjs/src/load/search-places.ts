import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** Default folders in which to search for tfjs-node: the working directory, then this package's own. */
export function searchPlaces(workingDirectory: string = process.cwd()): readonly string[] {
  return [workingDirectory, dirname(fileURLToPath(import.meta.url))];
}
