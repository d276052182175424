/** Downloads the missing files of a repository into the cache, or finds them there. */
import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/graph";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { fileFailure, requireSpace } from "@mp/wheels/file-failure";
import { sweepPartials } from "@mp/wheels/publish";
import { blobFolder, keepRef, linkBlob, sizeIfThere, snapshotFolder } from "./cache.js";
import { chooseFiles, listPaths } from "./choose.js";
import { leftBytes } from "./claim-partial.js";
import { fetchBlob } from "./fetch-blob.js";
import {
  blobPath,
  fetchCommit,
  fetchFiles,
  isCommit,
  keepList,
  type RemoteFile,
  readList,
} from "./listing.js";
import { findSnapshot } from "./offline.js";
import { parseRepository, type Repository, staysInside } from "./repository.js";
import type { Hub } from "./request.js";
import type { Pause } from "./retries.js";
import { readSettings, sendsInClear } from "./settings.js";

/** The progress of a download. */
export interface Progress {
  /** The file that is being downloaded; the repository's name until the hub has listed its files. */
  readonly file: string;
  /** Bytes of the requested files that have arrived or were there. */
  readonly bytes: number;
  /** Total bytes of the requested files; 0 until the hub has listed them. */
  readonly totalBytes: number;
  /** Set while the download waits: for the hub, or for another process. */
  readonly pause?: Pause;
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
  /** Called when bytes have arrived, and when the download waits. */
  readonly onProgress?: (progress: Progress) => void;
  /** Ends the download, which rejects with the signal's reason; what has come is kept. */
  readonly signal?: AbortSignal;
  /** Called when a token would be sent unencrypted; default prints to stderr. */
  readonly onWarning?: (warning: { readonly message: string }) => void;
}

const isWord = (value: unknown): value is string => typeof value === "string" && value !== "";
const isRevision = (value: unknown): boolean => isWord(value) && staysInside(value);
const areNames = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isWord);

const OPTIONS = {
  revision: withDefault("main", checks.claim("a branch, tag or commit", isRevision)),
  files: checks.optional(checks.claim("a list of names or patterns of files, not empty", areNames)),
  endpoint: checks.optional(checks.text),
  cache: checks.optional(checks.path),
  offline: checks.optional(checks.truth),
  token: checks.optional(checks.claim("a token or false", (value) => value === false || isWord(value))),
  onProgress: withDefault(() => {}, checks.callback),
  signal: checks.optional(checks.claim("an AbortSignal", (value) => value instanceof AbortSignal)),
  onWarning: withDefault(
    ({ message }: { readonly message: string }) => console.warn(`[mp] ${message}`),
    checks.callback,
  ),
};

/**
 * Downloads the missing files of a repository, `org/model` or `datasets/org/name`, and returns the folder of its
 * snapshot. Its files are links into the cache, which Python's huggingface_hub shares.
 * @throws MP_INVALID_ARGUMENT for invalid options, files that the repository lacks and an empty repository;
 *   MP_IO if the hub, the network or the disk fails, and for files missing offline; MP_PARSE for an answer
 *   that is not a list, and for bytes that differ from the listed ones; the reason of an aborted signal
 */
export async function download(repo: string, options: DownloadOptions = {}): Promise<string> {
  const example = '{ files: ["*.json", "*.safetensors"] }';
  const { revision, files, onProgress, signal, onWarning, ...given } = readOptions(
    "download",
    options,
    OPTIONS,
    { example },
  );
  const settings = readSettings(given, process.env);
  const repository = parseRepository(repo, settings.cache);
  signal?.throwIfAborted();
  try {
    if (settings.offline) return await findSnapshot(repository, revision, files);
    if (sendsInClear(settings)) {
      const remedy = "use https://, or pass token: false";
      onWarning({ message: `download: the token goes to ${settings.endpoint} unencrypted; ${remedy}` });
    }
    return await fetchSnapshot({ ...settings, signal }, repository, { revision, files, onProgress });
  } catch (error) {
    throw fileFailure(error, {
      command: "download",
      space: "make room and call again, what has come is kept",
      cache: `the cache is ${settings.cache}, cache and HF_HOME move it`,
    });
  }
}

interface Wanted {
  readonly revision: string;
  readonly files: readonly string[] | undefined;
  readonly onProgress: (progress: Progress) => void;
}

async function fetchSnapshot(
  settings: Hub,
  repository: Repository,
  { revision, files, onProgress }: Wanted,
): Promise<string> {
  const { folder, path: repo } = repository;
  let shown: Progress = { file: repo, bytes: 0, totalBytes: 0 };
  const hub: Hub = { ...settings, onPause: (pause) => onProgress({ ...shown, pause }) };
  const commit = isCommit(revision) ? revision : await fetchCommit(hub, repository, revision);
  const kept = await readList(repository, commit);
  const list = kept ?? (await fetchFiles(hub, repository, commit));
  const { files: asked, lacking } = chooseFiles(list, files);
  if (lacking.length > 0 || list.length === 0) {
    const has = `it has ${listPaths(list.map(({ path }) => path))}`;
    const problem = list.length === 0 ? "; check the name and the revision" : ` but no ${listPaths(lacking)}`;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `download: files must name files of ${repo} at ${revision}: ${has}${problem}`,
      { details: { repo, revision, lacking } },
    );
  }
  await mkdir(blobFolder(repository), { recursive: true });
  await sweepPartials(folder);
  if (kept === undefined) await keepList(repository, commit, list);
  if (revision !== commit) await keepRef(repository, revision, commit);

  const missing = new Set<RemoteFile>();
  let neededBytes = 0;
  for (const file of asked) {
    const blob = blobPath(repository, file);
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
    const blob = blobPath(repository, file);
    if (missing.has(file)) {
      const url = `${place}/${file.path.split("/").map(encodeURIComponent).join("/")}`;
      const before = bytes;
      const onFilled = (filled: number) => {
        shown = { file: file.path, bytes: before + filled, totalBytes };
        onProgress(shown);
      };
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
