import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/** Writes a file completely or not at all: to a temporary file next to it, which is then renamed. */
export function writeWhole(path: string, text: string): void {
  // /dev/stdout and pipes are written directly; a rename would replace them by a file.
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
