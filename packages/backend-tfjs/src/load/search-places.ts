import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The default folders to search tfjs-node from: the working directory, then this package's own folder. */
export function searchPlaces(workingDirectory: string = process.cwd()): readonly string[] {
  return [workingDirectory, dirname(fileURLToPath(import.meta.url))];
}
