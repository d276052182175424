/** Downloads one file to its place among the blobs: by range, resumed, checked, and renamed when complete. */
import { createHash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { MpError } from "@mp/graph";
import { hashFile } from "@mp/wheels/file-sum";
import { claimPartial, leavePartial } from "./claim-partial.js";
import type { RemoteFile } from "./listing.js";
import { type Hub, request, unreachable } from "./request.js";
import { withRetries } from "./retries.js";

/** A connection that brings fewer bytes than this within the time limit for silence counts as silent. */
const HEARD_BYTES = 1024;

/** A file to download, and the callback for its progress. */
export interface BlobRequest {
  readonly hub: Hub;
  readonly url: string;
  readonly file: RemoteFile;
  readonly onFilled: (bytes: number) => void;
}

/**
 * Downloads a file to `final`, the path of its blob, unless it is there.
 * @throws MP_IO, MP_PARSE for bytes that differ from the listed ones
 */
export async function fetchBlob(asked: BlobRequest, final: string): Promise<void> {
  const partial = await claimPartial(final, asked.hub);
  if (partial === undefined) return;
  const handle = await open(partial, "a");
  try {
    await fill(asked, partial, handle);
    await rename(partial, final);
  } catch (error) {
    // No later download could continue a file whose bytes are wrong.
    if (MpError.is(error, "MP_PARSE")) await rm(partial, { force: true });
    else await leavePartial(partial, final);
    throw error;
  } finally {
    await handle.close();
  }
}

/** Continues an earlier download, or starts again if its bytes are damaged. */
async function fill(asked: BlobRequest, partial: string, handle: FileHandle): Promise<void> {
  const { file } = asked;
  const blob: Unfinished = { handle, filled: (await handle.stat()).size };
  if (blob.filled > file.sizeBytes) await empty(blob);
  for (let isOwn = blob.filled === 0; ; isOwn = true) {
    await withRetries(
      asked.hub,
      () => attempt(asked, blob),
      () => blob.filled,
    );
    await handle.sync();
    const wanted = file.sha256 ?? file.blobId;
    if ((await hashFile(partial, emptySum(file))) === wanted) return;
    if (isOwn) throw wrongSum(file, wanted);
    await empty(blob);
  }
}

/** An unfinished file, with the number of bytes written from its beginning. */
interface Unfinished {
  readonly handle: FileHandle;
  filled: number;
}

async function empty(blob: Unfinished): Promise<void> {
  await blob.handle.truncate(0);
  blob.filled = 0;
}

async function attempt({ hub, url, file, onFilled }: BlobRequest, blob: Unfinished): Promise<void> {
  const { path, sizeBytes } = file;
  onFilled(blob.filled);
  if (blob.filled === sizeBytes) return;
  const silence = new AbortController();
  const reason = new Error(`less than ${HEARD_BYTES} bytes in ${hub.timeoutMs / 1000} s`);
  const timer = setTimeout(() => silence.abort(reason), hub.timeoutMs);
  const signal = AbortSignal.any([silence.signal, ...(hub.signal ? [hub.signal] : [])]);
  let heardAt = blob.filled;
  try {
    const range = blob.filled === 0 ? {} : { range: `bytes=${blob.filled}-` };
    const headers = { "accept-encoding": "identity", ...range };
    const response = await request(hub, path, url, { headers, signal });
    await expectContinuation(hub, path, response, blob);
    const reader = response.body?.getReader();
    for (;;) {
      const read = await reader?.read().catch((cause) => {
        throw unreachable(path, hub.endpoint, cause);
      });
      if (read?.value === undefined) break;
      if (blob.filled + read.value.length > sizeBytes) throw tooMuch(file);
      await blob.handle.appendFile(read.value);
      blob.filled += read.value.length;
      onFilled(blob.filled);
      if (blob.filled - heardAt < HEARD_BYTES) continue;
      heardAt = blob.filled;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
    // Also closes a connection that still sends.
    silence.abort();
  }
  if (blob.filled < sizeBytes)
    throw unreachable(path, hub.endpoint, new Error(`it ends after ${blob.filled} bytes`));
}

/** Checks that the answer continues the file: a server may ignore the range and send it from the beginning. */
async function expectContinuation(
  hub: Hub,
  path: string,
  response: Response,
  blob: Unfinished,
): Promise<void> {
  const [, start] = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "") ?? [];
  const begins = response.status === 206 ? Number(start) : 0;
  if (begins === blob.filled) return;
  await empty(blob);
  if (begins !== 0) throw unreachable(path, hub.endpoint, new Error("another range was sent"));
}

const emptySum = ({ sha256, sizeBytes }: RemoteFile) =>
  sha256 === undefined ? createHash("sha1").update(`blob ${sizeBytes}\0`) : createHash("sha256");

const tooMuch = ({ path, sizeBytes }: RemoteFile): MpError =>
  new MpError(
    "MP_PARSE",
    `download: ${path}: the server sends more than the ${sizeBytes} bytes that it lists; try again, or check endpoint and proxies`,
    { details: { file: path, sizeBytes } },
  );

const wrongSum = ({ path, sha256 }: RemoteFile, expected: string): MpError =>
  new MpError(
    "MP_PARSE",
    `download: ${path}: the bytes are not those that the hub lists (${sha256 === undefined ? "git's SHA-1" : "SHA-256"} ${expected}); nothing was kept, try again, or check endpoint and proxies`,
    { details: { file: path, expected } },
  );
