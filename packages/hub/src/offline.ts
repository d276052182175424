/** Finds a snapshot in the cache, without the network. */
import { join } from "node:path";
import { MpError } from "@mp/graph";
import { presentFiles, readRef, sizeIfThere, snapshotFolder } from "./cache.js";
import { chooseFiles, listPaths } from "./choose.js";
import { isCommit, readList } from "./listing.js";
import type { Repository } from "./repository.js";

/**
 * Finds the folder of a snapshot with all requested files. A download stores a list of the repository's files; if it
 * is missing, as after older versions of Python, the repository is assumed to have only the files in the cache.
 * @throws MP_IO naming what is missing
 */
export async function findSnapshot(
  repository: Repository,
  revision: string,
  asked: readonly string[] | undefined,
): Promise<string> {
  const commit = isCommit(revision) ? revision : await readRef(repository, revision);
  if (commit === undefined || !isCommit(commit))
    throw absent(repository, revision, asked ?? ["the revision"]);
  const snapshot = snapshotFolder(repository, commit);
  const kept = await readList(repository, commit);
  const list = kept ?? (await presentFiles(snapshot)).map((path) => ({ path, sizeBytes: undefined }));
  const { files, lacking } = chooseFiles<{ path: string; sizeBytes: number | undefined }>(list, asked);
  const missing = [...lacking];
  if (files.length === 0 && asked === undefined) missing.push("every file");
  for (const { path, sizeBytes } of files) {
    const size = await sizeIfThere(join(snapshot, path));
    if (size !== (sizeBytes ?? size)) missing.push(path);
  }
  if (missing.length > 0) throw absent(repository, revision, missing);
  return snapshot;
}

const absent = ({ path: repo, folder }: Repository, revision: string, missing: readonly string[]): MpError =>
  new MpError(
    "MP_IO",
    `download: ${repo} at ${revision}: offline, and the cache lacks ${listPaths(missing)} (${folder}); download it once with offline: false and without HF_HUB_OFFLINE`,
    { details: { repo, revision, missing, file: folder } },
  );
