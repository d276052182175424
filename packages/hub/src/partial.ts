/**
 * Unfinished files beside their final place, named `<blob>.<owner>.incomplete`. No two processes write the same one, so
 * nothing has to be locked: who finishes first renames its file, and what a dead process left is taken by a rename.
 */
import { readdir, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isAbandoned, ownName } from "@mp/wheels/publish";
import { sizeIfThere } from "./cache.js";

const SUFFIX = ".incomplete";
/** The owner of a file whose download failed and may go on. */
const NOBODY = "left";
/** A file that has not grown for so long is not waited for. */
const SILENT_MS = 60_000;
const LOOK_MS = 200;

const partialOf = (final: string, owner: string): string => `${final}.${owner}${SUFFIX}`;

/**
 * A path for the unfinished file, which may hold what others left. Waits while another process downloads it.
 * @returns undefined when the file is at its final place
 */
export async function claimPartial(final: string): Promise<string | undefined> {
  const own = partialOf(final, ownName());
  for (;;) {
    if ((await sizeIfThere(final)) !== undefined) return undefined;
    const others = await othersOf(final);
    const left = others.find(({ isLeft }) => isLeft);
    if (left !== undefined) {
      const isOurs = await rename(left.path, own).then(
        () => true,
        () => false,
      );
      if (isOurs) return own;
    } else if (others.every(({ isGrowing }) => !isGrowing)) return own;
    await wait(LOOK_MS);
  }
}

/** Bytes of the blob that an earlier download left. */
export const leftBytes = async (final: string): Promise<number> =>
  (await sizeIfThere(partialOf(final, NOBODY))) ?? 0;

/** Leaves an unfinished file to the next download. */
export const leavePartial = (partial: string, final: string): Promise<void> =>
  rename(partial, partialOf(final, NOBODY)).catch(() => undefined);

async function othersOf(final: string): Promise<{ path: string; isLeft: boolean; isGrowing: boolean }[]> {
  const folder = dirname(final);
  const names = (await readdir(folder)).filter(
    (name) => name.startsWith(`${basename(final)}.`) && name.endsWith(SUFFIX),
  );
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const owner = name.slice(basename(final).length + 1, -SUFFIX.length);
      const changedMs = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      );
      return {
        path,
        isLeft: owner === NOBODY || (await isAbandoned(path, owner)),
        isGrowing: Date.now() - changedMs < SILENT_MS,
      };
    }),
  );
}
