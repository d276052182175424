/** Lists the files of a repository at a commit; the list is cached as Python caches it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/graph";
import { askPages, badAnswer, quote } from "./ask.js";
import { blobFolder, replaceFile } from "./cache.js";
import type { Repository } from "./repository.js";
import type { Hub } from "./request.js";

export interface RemoteFile {
  /** The path in the repository, with slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Git's blob id, the SHA-1 of `blob <size>\0` and the bytes; if there is a `sha256`, the LFS pointer's id. */
  readonly blobId: string;
  /** The SHA-256 of a large file's bytes. */
  readonly sha256: string | undefined;
}

export const blobPath = (repository: Repository, { sha256, blobId }: RemoteFile): string =>
  join(blobFolder(repository), sha256 ?? blobId);

export const isCommit = (revision: unknown): revision is string =>
  typeof revision === "string" && /^[0-9a-f]{40}$/.test(revision);

/** The most names of a list; the hub advises against repositories of more than 100 000 files. */
const MOST_NAMES = 200_000;
/** The longest path that systems accept, in UTF-16 units. */
const LONGEST = 4096;
/** An unpaired surrogate, which no address and no file name can hold. */
const HALF = /\p{Surrogate}/u;

const api = ({ endpoint }: Hub, { type, name }: Repository): string => `${endpoint}/api/${type}s/${name}`;

/** Asks the hub for the commit of a revision. @throws MP_IO, MP_PARSE for an answer without a commit */
export async function fetchCommit(hub: Hub, repository: Repository, revision: string): Promise<string> {
  const { path } = repository;
  const url = `${api(hub, repository)}/revision/${encodeURIComponent(revision)}?expand=sha`;
  const { value } = await askPages(hub, path, url).next();
  const sha = (value as { sha?: unknown } | null)?.sha;
  if (isCommit(sha)) return sha;
  throw badAnswer(hub, `the commit of ${path} at ${revision}`, quote(sha));
}

/** Asks the hub for a commit's files. @throws MP_IO, MP_PARSE for a file without a valid size or checksum */
export async function fetchFiles(hub: Hub, repository: Repository, commit: string): Promise<RemoteFile[]> {
  const { path: repo } = repository;
  const url = `${api(hub, repository)}/tree/${commit}?recursive=true&expand=false`;
  const files: RemoteFile[] = [];
  for await (const page of askPages(hub, repo, url)) {
    if (!Array.isArray(page)) throw badAnswer(hub, `the files of ${repo}`, quote(page));
    for (const entry of page) {
      if (entry?.type !== "file") continue;
      const { path, size, oid: blobId, lfs } = entry;
      const file = { path, sizeBytes: lfs?.size ?? size, blobId, sha256: lfs?.oid };
      if (!isFile(file)) throw badAnswer(hub, `a file of ${repo}`, quote(...Object.values(file)));
      files.push(file);
    }
    if (files.length <= MOST_NAMES) continue;
    throw new MpError(
      "MP_PARSE",
      `download: ${repo} must have at most ${MOST_NAMES} files, ${hub.endpoint} lists more; check endpoint and HF_ENDPOINT, or fetch it by git`,
      { details: { repo } },
    );
  }
  return files;
}

function isFile(file: { readonly [K in keyof RemoteFile]: unknown }): file is RemoteFile {
  const { path, sizeBytes, blobId, sha256 } = file;
  const isSound = typeof path === "string" && path.length <= LONGEST && !HALF.test(path);
  const isSized = Number.isSafeInteger(sizeBytes) && (sizeBytes as number) >= 0;
  const isSummed = sha256 === undefined || (typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256));
  return isSound && isSized && isCommit(blobId) && isSummed;
}

const VERSION = 1;
const listPath = (folder: string, commit: string): string => join(folder, "trees", `${commit}.json`);

/** Reads the list that this package or Python stored; undefined if there is none that can be read. */
export async function readList({ folder }: Repository, commit: string): Promise<RemoteFile[] | undefined> {
  try {
    const { format_version, files } = JSON.parse(await readFile(listPath(folder, commit), "utf8"));
    const list = Object.entries<Readonly<Record<string, unknown>>>(files).map(
      ([path, { size, blob_id: blobId, lfs_sha256: sha256, lfs_size }]) => ({
        path,
        sizeBytes: lfs_size ?? size,
        blobId,
        sha256,
      }),
    );
    return format_version === VERSION && list.every(isFile) ? list : undefined;
  } catch {
    return undefined;
  }
}

export async function keepList(
  { folder }: Repository,
  commit: string,
  list: readonly RemoteFile[],
): Promise<void> {
  const files = list.map(({ path, sizeBytes: size, blobId, sha256 }) => [
    path,
    { size, blob_id: blobId, ...(sha256 === undefined ? {} : { lfs_sha256: sha256, lfs_size: size }) },
  ]);
  const text = JSON.stringify({ format_version: VERSION, files: Object.fromEntries(files) });
  await replaceFile(folder, listPath(folder, commit), text);
}
