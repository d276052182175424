/** Reads a wheel: a zip file whose RECORD has the SHA-256 of every file. Holds no file in memory as a whole. */
import { createHash, type Hash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as consumers from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { MpError } from "@mp/graph";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import { errorCode } from "./file-failure.js";

export interface WheelArchive {
  /** The paths of all files, in the order of the archive. */
  readonly names: readonly string[];
  has(name: string): boolean;
  /** Size of the extracted file in bytes. */
  sizeOf(name: string): number;
  /** Reads a text file. @throws MP_PARSE if it is missing, damaged, or not what the RECORD says */
  text(name: string): Promise<string>;
  /** Extracts one file. @throws MP_PARSE as `text` does */
  extract(name: string, to: string): Promise<void>;
  close(): void;
}

/**
 * @param wanted names the right wheels, in messages: `a wheel of MPICH 5`
 * @throws MP_PARSE if the file is not a wheel, MP_IO if it cannot be read
 */
export async function openWheel(path: string, wanted: string): Promise<WheelArchive> {
  const zip = await openPromise(path, { autoClose: false, lazyEntries: true }).catch((cause) => {
    throw errorCode(cause) === undefined ? damageError(path, "it is not a zip file", cause) : cause;
  });
  try {
    const entries = await readEntries(zip, path);
    const record = await readRecord(zip, entries, path);
    return archive({ path, wanted, zip, entries, record });
  } catch (error) {
    zip.close();
    throw error;
  }
}

interface OpenWheel {
  readonly path: string;
  readonly wanted: string;
  readonly zip: ZipFile;
  readonly entries: ReadonlyMap<string, Entry>;
  /** SHA-256 by file, in base64url without padding. */
  readonly record: ReadonlyMap<string, string>;
}

function archive({ path, wanted, zip, entries, record }: OpenWheel): WheelArchive {
  const findEntry = (name: string): Entry => {
    const entry = entries.get(name);
    if (entry === undefined) throw damageError(path, `it holds no ${name}; ${wanted} does`);
    return entry;
  };
  /** Reads a file and compares its checksum. */
  const read = async <R>(name: string, use: (chunks: AsyncIterable<Buffer>) => Promise<R>): Promise<R> => {
    const entry = findEntry(name);
    const recorded = record.get(name);
    if (recorded === undefined) throw damageError(path, `its RECORD does not list ${name}`);
    const hash = createHash("sha256");
    const result = await inflate(zip, entry, path, (stream) => use(through(hash, stream)));
    if (hash.digest("base64url") !== recorded) throw damageError(path, `${name} is not what its RECORD says`);
    return result;
  };
  return {
    names: [...entries.keys()].filter((name) => !name.endsWith("/")),
    has: (name) => entries.has(name),
    sizeOf: (name) => findEntry(name).uncompressedSize,
    text: (name) => read(name, (chunks) => consumers.text(chunks)),
    extract: async (name, to) => {
      findEntry(name);
      await mkdir(dirname(to), { recursive: true });
      await read(name, (chunks) => pipeline(chunks, createWriteStream(to, { flags: "wx", mode: 0o444 })));
    },
    close: () => zip.close(),
  };
}

async function readEntries(zip: ZipFile, path: string): Promise<ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
  } catch (cause) {
    throw damageError(path, "its directory cannot be read", cause);
  }
  return entries;
}

/** Reads the RECORD: lines of `path,sha256=digest,size`. Paths with a comma are quoted; those are not needed here. */
async function readRecord(
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
  path: string,
): Promise<ReadonlyMap<string, string>> {
  const entry = [...entries.values()].find(({ fileName }) => /^[^/]+\.dist-info\/RECORD$/.test(fileName));
  if (entry === undefined) throw damageError(path, "it has no RECORD");
  const text = await inflate(zip, entry, path, (stream) => consumers.text(stream));
  const digests = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, name, digest] = /^([^",]+),sha256=([\w-]+),\d*\r?$/.exec(line) ?? [];
    if (name !== undefined && digest !== undefined) digests.set(name, digest);
  }
  return digests;
}

/** Decompresses a file; distinguishes errors in its data (a zlib code or no code) from errors of the disk. */
async function inflate<R>(
  zip: ZipFile,
  entry: Entry,
  path: string,
  use: (stream: AsyncIterable<Buffer>) => Promise<R>,
): Promise<R> {
  try {
    return await use(await zip.openReadStreamPromise(entry));
  } catch (cause) {
    const code = errorCode(cause);
    if (code !== undefined && /^E[A-Z]+$/.test(code)) throw cause;
    throw damageError(path, `${entry.fileName} cannot be unpacked`, cause);
  }
}

/** Passes chunks on and hashes them. */
async function* through(hash: Hash, chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

function damageError(path: string, problem: string, cause?: unknown): MpError {
  return new MpError(
    "MP_PARSE",
    `${basename(path)}: ${problem}; nothing was installed, fetch the wheel again`,
    {
      details: { file: path },
      cause,
    },
  );
}
