/**
 * Files and folders appear at their place by one rename, so that a kill at any moment leaves what was there before
 * or what is new, and nothing between. What a killed process left unfinished is recognised by its name and removed
 * by the next run.
 */
import { existsSync } from "node:fs";
import { copyFile, link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { errorCode } from "./file-failure.js";

const PREFIX = ".partial-";
const DAY_MS = 86_400_000;
/** Names of machines may hold anything; the parts of an unfinished name are joined by `-`. */
const machine = hostname().replace(/[^A-Za-z0-9.]/g, "_");
let count = 0;

/** A name, beside the final one, that the next run knows to be unfinished. */
export function partialPath(folder: string): string {
  count += 1;
  return join(folder, `${PREFIX}${machine}-${process.pid}-${count}`);
}

/**
 * Fills a folder and puts it in place, unless another process was quicker.
 * @param fill may fail, whereupon nothing is left
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

/** Takes a folder away by one rename before its parts go. */
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

/** One file under two names where both lie on one file system, a copy elsewhere. */
export async function linkOrCopy(from: string, to: string): Promise<"linked" | "copied"> {
  try {
    await link(from, to);
    return "linked";
  } catch (error) {
    // Another file system, one without hard links, or one that forbids links to files of others.
    if (!["EXDEV", "EPERM", "ENOTSUP", "EMLINK", "ENOSYS"].includes(errorCode(error) ?? "")) throw error;
    await copyFile(from, to);
    return "copied";
  }
}

/** Removes what processes that are gone left unfinished in a folder. */
export async function sweepPartials(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((name) => name.startsWith(PREFIX))) {
    const path = join(folder, name);
    if (await isAbandoned(path)) await rm(path, { recursive: true, force: true });
  }
}

/** A process of another machine or container cannot be asked after: its work is given a day. */
async function isAbandoned(path: string): Promise<boolean> {
  const [place, pid] = basename(path).slice(PREFIX.length).split("-");
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
