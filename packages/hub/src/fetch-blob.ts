/** Downloads one file to its place among the blobs: by range, resumed, checked, renamed when whole. */
import { rename, rm } from "node:fs/promises";
import { MpError } from "@mp/core";
import { BlobFile } from "./blob-file.js";
import type { RemoteFile } from "./listing.js";
import { claimPartial, leavePartial } from "./partial.js";
import { type Hub, persistently, request, unreachable } from "./request.js";

/** A file to download, and who is told how many bytes it has. */
export interface BlobRequest {
  readonly hub: Hub;
  readonly url: string;
  readonly file: RemoteFile;
  readonly onFilled: (bytes: number) => void;
}

/**
 * @param final the path of the blob
 * @throws MP_IO, MP_PARSE for bytes that are not the listed ones
 */
export async function fetchBlob(asked: BlobRequest, final: string): Promise<void> {
  const partial = await claimPartial(final);
  if (partial === undefined) return;
  const blob = await BlobFile.open(partial, asked.file);
  try {
    await fill(asked, blob);
    await rename(partial, final);
  } catch (error) {
    // What does not match is of no use to anyone.
    if (MpError.is(error, "MP_PARSE")) await rm(partial, { force: true });
    else await leavePartial(partial, final);
    throw error;
  } finally {
    await blob.close();
  }
}

async function fill(asked: BlobRequest, blob: BlobFile): Promise<void> {
  for (;;) {
    await persistently(
      asked.hub,
      () => attempt(asked, blob),
      () => blob.filled,
    );
    if (await blob.seal()) return;
    if (!blob.isAdopted) throw wrongSum(asked.file);
    // What another process left may have been damaged since.
    await blob.empty();
  }
}

async function attempt({ hub, url, file: { path }, onFilled }: BlobRequest, blob: BlobFile): Promise<void> {
  onFilled(blob.filled);
  if (blob.isFull) return;
  const silence = new Silence(hub.timeoutMs);
  try {
    const range = blob.filled === 0 ? {} : { range: `bytes=${blob.filled}-` };
    const headers = { "accept-encoding": "identity", ...range };
    const response = await request(hub, path, url, { headers, signal: silence.signal });
    await expectContinuation(hub, path, response, blob);
    const reader = response.body?.getReader();
    for (;;) {
      const read = await reader?.read().catch((cause) => {
        throw unreachable(path, hub.endpoint, cause);
      });
      if (read?.value === undefined) break;
      silence.broken();
      await blob.append(read.value);
      onFilled(blob.filled);
    }
  } finally {
    silence.end();
  }
  if (!blob.isFull) throw unreachable(path, hub.endpoint, new Error(`it ends after ${blob.filled} bytes`));
}

/** A server may ignore the range, and sends the file from its beginning then. */
async function expectContinuation(hub: Hub, path: string, response: Response, blob: BlobFile): Promise<void> {
  const [, start] = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "") ?? [];
  const begins = response.status === 206 ? Number(start) : 0;
  if (begins === blob.filled) return;
  await blob.empty();
  if (begins === 0) return;
  await response.body?.cancel().catch(() => undefined);
  throw unreachable(path, hub.endpoint, new Error("another range was sent"));
}

const wrongSum = ({ path, sha256, blobId }: RemoteFile): MpError =>
  new MpError(
    "MP_PARSE",
    `download: ${path}: the bytes are not those that the hub lists (${sha256 === undefined ? `git's SHA-1 ${blobId}` : `SHA-256 ${sha256}`}); nothing was kept, try again, or check endpoint and proxies`,
    { details: { file: path, expected: sha256 ?? blobId } },
  );

/** Aborts a request when nothing has come for a while. */
class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(timeoutMs: number) {
    const reason = new Error(`silent for ${timeoutMs / 1000} s`);
    this.#timer = setTimeout(() => this.#controller.abort(reason), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  broken(): void {
    this.#timer.refresh();
  }

  /** Also closes a connection that still sends. */
  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }
}
