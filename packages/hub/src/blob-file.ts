/** A file that fills from its beginning, with the sum of what it has. */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { MpError } from "@mp/core";
import type { RemoteFile } from "./listing.js";

export class BlobFile {
  readonly #handle: FileHandle;
  readonly #file: RemoteFile;
  #hash: Hash;
  #filled = 0;
  #isAdopted = false;

  private constructor(handle: FileHandle, file: RemoteFile) {
    this.#handle = handle;
    this.#file = file;
    this.#hash = emptySum(file);
  }

  /** Goes on after what the file at the path has, if that is no more than it should have. */
  static async open(path: string, file: RemoteFile): Promise<BlobFile> {
    const handle = await open(path, "a+");
    const blob = new BlobFile(handle, file);
    try {
      const { size } = await handle.stat();
      if (size > file.sizeBytes) await blob.empty();
      else if (size > 0) await blob.#adopt();
      return blob;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Bytes that it has. */
  get filled(): number {
    return this.#filled;
  }

  get isFull(): boolean {
    return this.#filled === this.#file.sizeBytes;
  }

  /** Whether some of its bytes came from another download. */
  get isAdopted(): boolean {
    return this.#isAdopted;
  }

  /** @throws MP_PARSE for more than its size */
  async append(chunk: Uint8Array): Promise<void> {
    const { path, sizeBytes } = this.#file;
    if (this.#filled + chunk.length > sizeBytes) {
      throw new MpError(
        "MP_PARSE",
        `download: ${path}: the server sends more than the ${sizeBytes} bytes that it lists; try again, or check endpoint and proxies`,
        { details: { file: path, sizeBytes } },
      );
    }
    await this.#handle.appendFile(chunk);
    this.#hash.update(chunk);
    this.#filled += chunk.length;
  }

  async empty(): Promise<void> {
    await this.#handle.truncate(0);
    this.#hash = emptySum(this.#file);
    this.#filled = 0;
    this.#isAdopted = false;
  }

  /** Puts it on the disk. @returns whether its sum is the listed one */
  async seal(): Promise<boolean> {
    await this.#handle.sync();
    return this.#hash.copy().digest("hex") === (this.#file.sha256 ?? this.#file.blobId);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #adopt(): Promise<void> {
    const stream = this.#handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 1 << 20 });
    for await (const chunk of stream) {
      this.#hash.update(chunk as Buffer);
      this.#filled += (chunk as Buffer).length;
    }
    this.#isAdopted = true;
  }
}

const emptySum = ({ sha256, sizeBytes }: RemoteFile): Hash =>
  sha256 === undefined ? createHash("sha1").update(`blob ${sizeBytes}\0`) : createHash("sha256");
