/** Lists the files of a repository at a commit, by the hub's library; the list is cached as Python caches it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { datasetInfo, listFiles, modelInfo } from "@huggingface/hub";
import { MpError } from "@mp/graph";
import { replaceFile } from "./cache.js";
import type { Repository } from "./repository.js";
import { type Hub, request, unreachable } from "./request.js";
import { TransientError, withRetries } from "./retries.js";

export interface RemoteFile {
  /** The path in the repository, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Git's id of the blob: SHA-1 of `blob <size>\0` and the bytes; with a `sha256`, that of the LFS pointer. */
  readonly blobId: string;
  /** The SHA-256 of a large file's bytes. */
  readonly sha256: string | undefined;
}

/** The name of the file's blob in the cache. */
export const blobName = ({ sha256, blobId }: RemoteFile): string => sha256 ?? blobId;

export const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);

/** Time limit for a whole answer of the API, whose pages are small. */
const ANSWER_MS = 60_000;

/** @throws MP_IO, MP_PARSE for an answer without a commit */
export async function fetchCommit(
  hub: Hub,
  { type, name, path }: Repository,
  revision: string,
): Promise<string> {
  const asked = { name, revision, hubUrl: hub.endpoint, additionalFields: ["sha"] as ["sha"] };
  const { sha } = await withLibrary(hub, path, (fetch) =>
    type === "model" ? modelInfo({ ...asked, fetch }) : datasetInfo({ ...asked, fetch }),
  );
  if (isCommit(sha)) return sha;
  throw badAnswer(hub, `the commit of ${path} at ${revision}`, sha);
}

/** @throws MP_IO, MP_PARSE for files without size or checksum, or outside of the repository */
export function fetchFiles(
  hub: Hub,
  { type, name, path }: Repository,
  commit: string,
): Promise<RemoteFile[]> {
  const asked = { repo: { type, name }, revision: commit, recursive: true, hubUrl: hub.endpoint };
  return withLibrary(hub, path, async (fetch) => {
    const files: RemoteFile[] = [];
    for await (const { type, ...entry } of listFiles({ ...asked, fetch })) {
      if (type === "file") files.push(readEntry(hub, path, entry));
    }
    return files;
  });
}

function readEntry(
  hub: Hub,
  repo: string,
  entry: { path: string; size: number; oid?: string; lfs?: { oid: string; size: number } },
): RemoteFile {
  const { path, oid: blobId = "", lfs } = entry;
  const file = { path, sizeBytes: lfs?.size ?? entry.size, blobId, sha256: lfs?.oid };
  if (isFile(file)) return file;
  throw badAnswer(hub, `a file of ${repo}`, entry);
}

function isFile({ path, sizeBytes, blobId, sha256 }: RemoteFile): boolean {
  const isSound = typeof path === "string" && Number.isSafeInteger(sizeBytes) && sizeBytes >= 0;
  return isSound && isCommit(blobId) && (sha256 === undefined || /^[0-9a-f]{64}$/.test(sha256));
}

const badAnswer = ({ endpoint }: Hub, what: string, got: unknown): MpError =>
  new MpError(
    "MP_PARSE",
    `download: ${endpoint} gives ${JSON.stringify(got)} for ${what}; check endpoint and HF_ENDPOINT, they must name a Hugging Face hub`,
    { details: { endpoint } },
  );

/** Makes the library use this package's requests, and retries answers that break off. */
const withLibrary = <T>(hub: Hub, what: string, ask: (fetching: typeof fetch) => Promise<T>): Promise<T> =>
  withRetries(() =>
    ask((url, init = {}) => {
      const signal = AbortSignal.timeout(ANSWER_MS);
      return request(hub, what, String(url), { ...init, signal });
    }).catch((error) => {
      throw MpError.is(error) || error instanceof TransientError
        ? error
        : unreachable(what, hub.endpoint, error);
    }),
  );

const VERSION = 1;
const listPath = (folder: string, commit: string): string => join(folder, "trees", `${commit}.json`);

/** Reads the list that this package or Python stored; undefined if there is none that can be read. */
export async function readList({ folder }: Repository, commit: string): Promise<RemoteFile[] | undefined> {
  try {
    const { format_version, files } = JSON.parse(await readFile(listPath(folder, commit), "utf8"));
    const list = Object.entries<Kept>(files).map(([path, { size, blob_id, lfs_sha256, lfs_size }]) => ({
      path,
      sizeBytes: lfs_size ?? size,
      blobId: blob_id,
      sha256: lfs_sha256,
    }));
    return format_version === VERSION && list.every(isFile) ? list : undefined;
  } catch {
    return undefined;
  }
}

interface Kept {
  readonly size: number;
  readonly blob_id: string;
  readonly lfs_sha256?: string;
  readonly lfs_size?: number;
}

export async function keepList(
  { folder }: Repository,
  commit: string,
  list: readonly RemoteFile[],
): Promise<void> {
  const files = list.map(({ path, sizeBytes: size, blobId, sha256 }): [string, Kept] => [
    path,
    { size, blob_id: blobId, ...(sha256 === undefined ? {} : { lfs_sha256: sha256, lfs_size: size }) },
  ]);
  const text = JSON.stringify({ format_version: VERSION, files: Object.fromEntries(files) });
  await replaceFile(folder, listPath(folder, commit), text);
}
