import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { locatePackage, packagesFor } from "@mp/libtensorflow";

/** The default folders to search tfjs-node from: the working directory, then this package's own folder. */
export function searchPlaces(workingDirectory: string = process.cwd()): readonly string[] {
  return [workingDirectory, dirname(fileURLToPath(import.meta.url))];
}

/** Whether tfjs-node and its addon are installed; does not check whether they load. */
export function tensorFlowInstalled(workingDirectory?: string): boolean {
  const found = locatePackage(packagesFor("cpu"), searchPlaces(workingDirectory));
  return found !== undefined && existsSync(found.addon);
}
