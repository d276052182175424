/** Keeps repositories in Python's cache layout: `blobs`, `refs` and `snapshots`, whose files are links to blobs. */
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { errorCode } from "@mp/wheels/file-failure";
import { linkOrCopy, partialPath } from "@mp/wheels/publish";
import type { Repository } from "./repository.js";

export const snapshotFolder = ({ folder }: Repository, commit: string): string =>
  join(folder, "snapshots", commit);
export const blobFolder = ({ folder }: Repository): string => join(folder, "blobs");
const refPath = ({ folder }: Repository, revision: string): string => join(folder, "refs", revision);

/** The size of a file; undefined if it does not exist. */
export const sizeIfThere = (path: string): Promise<number | undefined> =>
  stat(path).then(
    (found) => (found.isFile() ? found.size : undefined),
    () => undefined,
  );

/** Replaces a file by one rename. `folder`, on the same disk, holds the unfinished file until then. */
async function place(folder: string, path: string, make: (partial: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const partial = partialPath(folder);
  try {
    await make(partial);
    await rename(partial, path);
  } finally {
    // A full disk leaves half of it.
    await rm(partial, { force: true });
  }
}

export const replaceFile = (folder: string, path: string, text: string): Promise<void> =>
  place(folder, path, (partial) => writeFile(partial, text));

/** The commit that a branch or tag had when the hub was last asked. */
export const readRef = (repository: Repository, revision: string): Promise<string | undefined> =>
  readFile(refPath(repository, revision), "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );

export async function keepRef(repository: Repository, revision: string, commit: string): Promise<void> {
  if ((await readRef(repository, revision)) === commit) return;
  await replaceFile(repository.folder, refPath(repository, revision), commit);
}

/** Makes a file of the snapshot a link to its blob, or a copy on systems without links. */
export const linkBlob = (blob: string, path: string, folder: string): Promise<void> =>
  place(folder, path, (partial) =>
    symlink(relative(dirname(path), blob), partial).catch(async (error) => {
      if (!["EPERM", "ENOSYS", "ENOTSUP"].includes(errorCode(error) ?? "")) throw error;
      await linkOrCopy(blob, partial);
    }),
  );

/** Lists the files of a snapshot, with slashes, except those whose blobs are gone. */
export async function presentFiles(snapshot: string): Promise<string[]> {
  const names = await readdir(snapshot, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(names.map((name) => sizeIfThere(join(snapshot, name))));
  return names.filter((_, at) => sizes[at] !== undefined).map((name) => name.split(sep).join("/"));
}
