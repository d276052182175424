/**
 * Puts files and folders in place by one rename, so that a kill at any moment leaves either the old or the new
 * version. Unfinished work of a killed process is recognized by its name and removed by the next run.
 */
import { existsSync } from "node:fs";
import { copyFile, link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { errorCode } from "./file-failure.js";

const PREFIX = ".partial-";
const DAY_MS = 86_400_000;
/** The host's name without odd characters and without `-`, which separates the parts of `ownName`. */
const machine = hostname().replace(/[^A-Za-z0-9.]/g, "_");
let count = 0;

/** A unique name for unfinished work of this process: machine, process and a number. */
export function ownName(): string {
  count += 1;
  return `${machine}-${process.pid}-${count}`;
}

/** A path next to the final one that the next run recognizes as unfinished. */
export const partialPath = (folder: string): string => join(folder, `${PREFIX}${ownName()}`);

/**
 * Fills a folder and puts it in place, unless another process was quicker.
 * @param fill may fail; then nothing is left
 */
export async function publishFolder(final: string, fill: (partial: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(final), { recursive: true });
  const partial = partialPath(dirname(final));
  try {
    await mkdir(partial);
    await fill(partial);
    await rename(partial, final);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    const lostTheRace = ["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "") && existsSync(final);
    if (!lostTheRace) throw error;
  }
}

/** Deletes a folder, after one rename has moved it away. */
export async function withdrawFolder(final: string): Promise<void> {
  const partial = partialPath(dirname(final));
  try {
    await rename(final, partial);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  await rm(partial, { recursive: true, force: true });
}

/** Makes a hard link if both paths are on one file system, otherwise a copy. */
export async function linkOrCopy(from: string, to: string): Promise<"linked" | "copied"> {
  try {
    await link(from, to);
    return "linked";
  } catch (error) {
    // Copies to another file system, to one without hard links, and where links to other users' files are forbidden.
    if (!["EXDEV", "EPERM", "ENOTSUP", "EMLINK", "ENOSYS"].includes(errorCode(error) ?? "")) throw error;
    await copyFile(from, to);
    return "copied";
  }
}

/** Removes the unfinished work of dead processes from a folder. */
export async function sweepPartials(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((name) => name.startsWith(PREFIX))) {
    const path = join(folder, name);
    if (await isAbandoned(path, name.slice(PREFIX.length))) await rm(path, { recursive: true, force: true });
  }
}

/**
 * Whether the process that named its unfinished work is dead. A process on another machine or in another container
 * cannot be checked; its files count as abandoned after a day.
 */
export async function isAbandoned(path: string, name: string): Promise<boolean> {
  const [place, pid] = name.split("-");
  if (place === machine && !isAlive(Number(pid))) return true;
  const age = await stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  return age > DAY_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
