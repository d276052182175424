/** Reads a wheel: a zip file with the SHA-256 of every file in its RECORD. No file is held in memory as a whole. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Transform } from "node:stream";
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
  /** @throws MP_PARSE when it is missing, damaged, or not what the RECORD says */
  text(name: string): Promise<string>;
  /** Writes one file. @throws MP_PARSE as `text` does */
  extract(name: string, to: string): Promise<void>;
  close(): void;
}

interface RecordRow {
  /** SHA-256 in base64url without padding. */
  readonly digest: string;
}

/**
 * @param wanted which wheels hold what is taken from it, for messages: `a wheel of MPICH 5`
 * @throws MP_PARSE when the file is not a wheel, MP_IO when it cannot be read
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
  readonly record: ReadonlyMap<string, RecordRow>;
}

function archive({ path, wanted, zip, entries, record }: OpenWheel): WheelArchive {
  const findEntry = (name: string): Entry => {
    const entry = entries.get(name);
    if (entry === undefined) throw damageError(path, `it holds no ${name}; ${wanted} does`);
    return entry;
  };
  /** Streams a file into the sink and computes its checksum on the way. */
  const copy = async (name: string, sink: NodeJS.WritableStream): Promise<void> => {
    const entry = findEntry(name);
    const recorded = record.get(name);
    if (recorded === undefined) throw damageError(path, `its RECORD does not list ${name}`);
    const hash = createHash("sha256");
    await inflate(zip, entry, path, (stream) => pipeline(stream, through(hash), sink));
    if (hash.digest("base64url") !== recorded.digest) {
      throw damageError(path, `${name} is not what its RECORD says`);
    }
  };
  return {
    names: [...entries.keys()].filter((name) => !name.endsWith("/")),
    has: (name) => entries.has(name),
    sizeOf: (name) => findEntry(name).uncompressedSize,
    text: async (name) => {
      const chunks: Buffer[] = [];
      await copy(name, collector(chunks));
      return Buffer.concat(chunks).toString("utf8");
    },
    extract: async (name, to) => {
      findEntry(name);
      await mkdir(dirname(to), { recursive: true });
      await copy(name, createWriteStream(to, { flags: "wx", mode: 0o444 }));
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

/** Lines of `path,sha256=digest,size`; paths with a comma are quoted, and none of those are needed here. */
async function readRecord(
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
  path: string,
): Promise<ReadonlyMap<string, RecordRow>> {
  const entry = [...entries.values()].find(({ fileName }) => /^[^/]+\.dist-info\/RECORD$/.test(fileName));
  if (entry === undefined) throw damageError(path, "it has no RECORD");
  const chunks: Buffer[] = [];
  await inflate(zip, entry, path, (stream) => pipeline(stream, collector(chunks)));
  const rows = new Map<string, RecordRow>();
  for (const line of Buffer.concat(chunks).toString("utf8").split("\n")) {
    const [, name, digest] = /^([^",]+),sha256=([\w-]+),\d*\r?$/.exec(line) ?? [];
    if (name !== undefined && digest !== undefined) rows.set(name, { digest });
  }
  return rows;
}

/** Distinguishes errors in the compressed data, which have a zlib code or none, from errors of the disk. */
async function inflate(
  zip: ZipFile,
  entry: Entry,
  path: string,
  use: (stream: NodeJS.ReadableStream) => Promise<void>,
): Promise<void> {
  try {
    await use(await zip.openReadStreamPromise(entry));
  } catch (cause) {
    const code = errorCode(cause);
    if (code !== undefined && /^E[A-Z]+$/.test(code)) throw cause;
    throw damageError(path, `${entry.fileName} cannot be unpacked`, cause);
  }
}

function through(hash: ReturnType<typeof createHash>): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

function collector(chunks: Buffer[]): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  }).resume();
}

/** @throws MP_PARSE when the file's digest is not the wanted one */
export function requireDigest(file: string, actual: string, wanted: string, by: string): void {
  if (actual === wanted) return;
  throw new MpError(
    "MP_PARSE",
    `${basename(file)}: SHA-256 ${wanted} is expected (${by}), got ${actual}; the file is damaged or not the one it is named for: nothing was installed, fetch it again`,
    { details: { file, expected: wanted, actual } },
  );
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
