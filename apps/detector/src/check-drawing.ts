import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { UsageError } from "@mp/cli";

/** @throws UsageError before training starts, if pictures could not be written */
export function checkDrawing(directory: string): void {
  const isFolder = (path: string): boolean | undefined =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const own = isFolder(directory);
  if (own === false) throw new UsageError(`--draw ${directory}: is a file, name a directory`);
  const parent = dirname(resolve(directory));
  if (own === undefined && isFolder(parent) !== true)
    throw new UsageError(`--draw ${directory}: no such directory, ${parent}`);
}
