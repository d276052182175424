/**
 * Unfinished files beside their final place, named `<blob>.<owner>.incomplete`. A process downloads only while no
 * other has a live file there, and renames its own file when complete. A dead process leaves nothing locked.
 */
import { readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isAbandoned, ownName } from "@mp/wheels/publish";
import { sizeIfThere } from "./cache.js";
import { pause, type Waiting } from "./retries.js";

const SUFFIX = ".incomplete";
/** The owner in the name of a file whose download failed and may be continued. */
const NOBODY = "left";
/** Other processes stop waiting for a file that has not grown for this time. */
const SILENT_MS = 60_000;
const LOOK_MS = 200;

const partialPath = (final: string, owner: string): string => `${final}.${owner}${SUFFIX}`;

/**
 * Claims a path for the unfinished file, which may contain bytes of earlier downloads. Waits while another process
 * downloads it.
 * @returns undefined if the file is at its final place
 * @throws the reason of an aborted signal
 */
export async function claimPartial(final: string, waiting: Waiting = {}): Promise<string | undefined> {
  const own = partialPath(final, ownName());
  for (;;) {
    if ((await sizeIfThere(final)) !== undefined) return undefined;
    if ((await findOthers(final, own)).every(({ isLive }) => !isLive)) {
      await writeFile(own, "", { flag: "wx" });
      // Of two processes that looked at the same moment, at least one now sees the file of the other.
      const others = await findOthers(final, own);
      const isFinished = (await sizeIfThere(final)) !== undefined;
      if (!isFinished && others.every(({ isLive }) => !isLive)) {
        await takeLargest(others, own);
        return own;
      }
      await rm(own, { force: true });
    }
    // The random pause keeps two processes that gave way to each other from colliding again.
    await pause(waiting, LOOK_MS * (0.5 + Math.random()), "another process downloads the same file");
  }
}

/** Takes over the largest of the files that others left, and removes the rest. */
async function takeLargest(others: readonly OtherPartial[], own: string): Promise<void> {
  const [largest, ...rest] = others.filter(({ isLeft }) => isLeft).sort((a, b) => b.sizeBytes - a.sizeBytes);
  if (largest === undefined) return;
  const now = new Date();
  // A file that was left long ago would not count as live.
  await utimes(largest.path, now, now).catch(() => undefined);
  await rename(largest.path, own).catch(() => undefined);
  for (const { path } of rest) await rm(path, { force: true });
}

/** Number of bytes of the blob that an earlier download left. */
export const leftBytes = async (final: string): Promise<number> =>
  (await sizeIfThere(partialPath(final, NOBODY))) ?? 0;

/** Leaves an unfinished file for the next download. */
export const leavePartial = (partial: string, final: string): Promise<void> =>
  rename(partial, partialPath(final, NOBODY)).catch(() => undefined);

/** An unfinished file that this call does not own. */
interface OtherPartial {
  readonly path: string;
  readonly sizeBytes: number;
  /** Whether the download that wrote the file has ended. */
  readonly isLeft: boolean;
  /** Whether another process is downloading the file, which has grown recently. */
  readonly isLive: boolean;
}

async function findOthers(final: string, own: string): Promise<OtherPartial[]> {
  const folder = dirname(final);
  const names = (await readdir(folder)).filter(
    (name) => name.startsWith(`${basename(final)}.`) && name.endsWith(SUFFIX) && name !== basename(own),
  );
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const owner = name.slice(basename(final).length + 1, -SUFFIX.length);
      const found = await stat(path).catch(() => undefined);
      const isLeft = owner === NOBODY || (await isAbandoned(path, owner));
      const isLive = !isLeft && Date.now() - (found?.mtimeMs ?? 0) < SILENT_MS;
      return { path, sizeBytes: found?.size ?? 0, isLeft, isLive };
    }),
  );
}
