/** Downloads the missing files of a repository into the cache, or finds them there. */
import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { fileFailure, requireSpace } from "@mp/wheels/file-failure";
import { sweepPartials } from "@mp/wheels/publish";
import { blobPath, keepRef, linkBlob, sizeIfThere, snapshotFolder } from "./cache.js";
import { chooseFiles, listPaths } from "./choose.js";
import { fetchBlob } from "./fetch-blob.js";
import {
  blobName,
  fetchCommit,
  fetchFiles,
  isCommit,
  keepList,
  type RemoteFile,
  readList,
} from "./listing.js";
import { findSnapshot } from "./offline.js";
import { leftBytes } from "./partial.js";
import { parseRepository, type Repository, staysInside } from "./repository.js";
import type { Hub } from "./request.js";
import { readSettings } from "./settings.js";

/** The progress of a download. */
export interface Progress {
  /** The file that is being downloaded. */
  readonly file: string;
  /** Bytes of the requested files that have arrived or were there. */
  readonly bytes: number;
  /** Total bytes of the requested files. */
  readonly totalBytes: number;
}

export interface DownloadOptions {
  /** A branch, a tag or a commit. Default `main`. */
  readonly revision?: string;
  /** Names of the files to download, or patterns with `*` and `?`. Default: all. */
  readonly files?: readonly string[];
  /** The address of the hub. Default: `HF_ENDPOINT`, or `https://huggingface.co`. */
  readonly endpoint?: string;
  /** The folder of the cache. Default: `HF_HUB_CACHE`, `HF_HOME/hub`, or `~/.cache/huggingface/hub`. */
  readonly cache?: string;
  /** Whether to use only the cache, never the network. Default: `HF_HUB_OFFLINE`. */
  readonly offline?: boolean;
  /** Token for private and gated repositories; false sends none. Default: `HF_TOKEN`, or that of `hf auth login`. */
  readonly token?: string | false;
  /** Called when bytes have arrived. */
  readonly onProgress?: (progress: Progress) => void;
}

const OPTIONS = {
  revision: withDefault(
    "main",
    checks.claim(
      "a branch, tag or commit",
      (value) => typeof value === "string" && value !== "" && staysInside(value),
    ),
  ),
  files: checks.optional(
    checks.claim(
      "a list of names or patterns of files, not empty",
      (value) =>
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((name) => typeof name === "string" && name !== ""),
    ),
  ),
  endpoint: checks.optional(checks.text),
  cache: checks.optional(checks.path),
  offline: checks.optional(checks.truth),
  token: checks.optional(
    checks.claim(
      "a token or false",
      (value) => value === false || (typeof value === "string" && value !== ""),
    ),
  ),
  onProgress: checks.optional(checks.callback),
};

/**
 * Downloads the missing files of a repository, `org/model` or `datasets/org/name`, and returns the folder of its
 * snapshot. Its files are links into the cache, which Python's huggingface_hub shares.
 * @throws MP_INVALID_ARGUMENT for invalid options and files that the repository lacks; MP_IO if the hub, the network
 *   or the disk fails, and for files missing offline; MP_PARSE for bytes that differ from the listed ones
 */
export async function download(repo: string, options: DownloadOptions = {}): Promise<string> {
  const { revision, files, onProgress, ...given } = readOptions("download", options, OPTIONS, {
    example: '{ files: ["*.json", "*.safetensors"] }',
  });
  const settings = readSettings(given, process.env);
  const repository = parseRepository(repo, settings.cache);
  try {
    if (settings.offline) return await findSnapshot(repository, revision, files);
    return await fetchSnapshot(settings, repository, { revision, files, onProgress });
  } catch (error) {
    throw fileFailure(error, {
      command: "download",
      space: "make room",
      cache: `the cache is ${settings.cache}, cache and HF_HOME move it`,
    });
  }
}

interface Wanted {
  readonly revision: string;
  readonly files: readonly string[] | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

async function fetchSnapshot(hub: Hub, repository: Repository, wanted: Wanted): Promise<string> {
  const { revision, files, onProgress } = wanted;
  const { folder, path: repo } = repository;
  const commit = isCommit(revision) ? revision : await fetchCommit(hub, repository, revision);
  const kept = await readList(repository, commit);
  const list = kept ?? (await fetchFiles(hub, repository, commit));
  const { files: asked, lacking } = chooseFiles(list, files);
  if (lacking.length > 0) {
    const has = listPaths(list.map(({ path }) => path));
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `download: files: ${repo} at ${revision} has no ${listPaths(lacking)}; it has ${has}`,
      { details: { repo, revision, lacking } },
    );
  }
  await mkdir(blobPath(repository, ""), { recursive: true });
  await sweepPartials(folder);
  if (kept === undefined) await keepList(repository, commit, list);
  if (revision !== commit) await keepRef(repository, revision, commit);

  const missing = new Set<RemoteFile>();
  let neededBytes = 0;
  for (const file of asked) {
    const blob = blobPath(repository, blobName(file));
    const size = await sizeIfThere(blob);
    if (size === file.sizeBytes) continue;
    missing.add(file);
    // A blob that is absent may be finished by another process in this moment.
    if (size !== undefined) await rm(blob, { force: true });
    neededBytes += Math.max(0, file.sizeBytes - (await leftBytes(blob)));
  }
  const totalBytes = sum(asked);
  const { bavail, bsize } = await statfs(folder);
  requireSpace(folder, bavail * bsize, neededBytes, "cache and HF_HOME move the cache");

  let bytes = totalBytes - sum([...missing]);
  const snapshot = snapshotFolder(repository, commit);
  const place = `${hub.endpoint}/${repo}/resolve/${commit}`;
  for (const file of asked) {
    const blob = blobPath(repository, blobName(file));
    if (missing.has(file)) {
      const url = `${place}/${file.path.split("/").map(encodeURIComponent).join("/")}`;
      const before = bytes;
      const onFilled = (filled: number) =>
        onProgress?.({ file: file.path, bytes: before + filled, totalBytes });
      await fetchBlob({ hub, url, file, onFilled }, blob);
      bytes += file.sizeBytes;
    }
    const path = join(snapshot, file.path);
    if ((await sizeIfThere(path)) !== file.sizeBytes) await linkBlob(blob, path, folder);
  }
  return snapshot;
}

const sum = (files: readonly RemoteFile[]): number =>
  files.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
