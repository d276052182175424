import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/** Writes a file whole or not at all: beside its place and then there. */
export function writeWhole(path: string, text: string): void {
  // /dev/stdout and pipes take what is written to them; a rename would put a file in their place.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    writeFileSync(path, text);
    return;
  }
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
