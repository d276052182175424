// The hash that a file contains: SHA-256 of the same file without the hash's entry. So it also covers names, shapes,
// dtypes and metadata, and stays valid when another program rewrites the tensors and metadata, in any order and with
// any header padding.
import { sha256 } from "#sha256";
import { SafetensorsError } from "./errors.js";
import { quote, refuse } from "./problem.js";

const KEY = "mp.sha256";
/** The value has its own prefix, so that a file with a damaged key is not taken for a file without a hash. */
const pattern = /^mp\.sha256:([0-9a-f]{64})$/;

type Metadata = Iterable<readonly [string, string]>;

const isHash = ([key, value]: readonly [string, string]): boolean => key === KEY || pattern.test(value);

export class FileHash {
  readonly #hash = sha256();

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  /** 64 hex digits; nothing can be added after it. */
  digest(): string {
    return this.#hash.digest();
  }

  /** @throws SAFETENSORS_PARSE when the content that was read is not what was written */
  expect(expected: string): void {
    const found = this.digest();
    if (found === expected) return;
    refuse(
      "hash-mismatch",
      "the content is not what was written; load an earlier file or a copy of it, or, where another program has " +
        `changed the file on purpose, write it there without the metadata ${KEY}`,
      { expected, found },
    );
  }
}

/** The entry that is added to a file's metadata. */
export function hashEntry(hash: FileHash): readonly [string, string] {
  return [KEY, `mp.sha256:${hash.digest()}`];
}

/** @throws SAFETENSORS_INVALID_ARGUMENT for metadata that already have the entry or one that looks like it */
export function checkNoHash(metadata: Metadata): void {
  const found = [...metadata].find(isHash);
  if (found === undefined) return;
  throw new SafetensorsError(
    "SAFETENSORS_INVALID_ARGUMENT",
    `safetensors: metadata ${quote(found[0])} is the place or the form of the file's own hash, which is written by itself; leave it out`,
  );
}

/** 64 hex digits, or undefined for a file without a hash. @throws SAFETENSORS_PARSE for a damaged key or form */
export function expectedHash(metadata: Metadata): string | undefined {
  const entries = [...metadata].filter(isHash);
  if (entries.length === 0) return undefined;
  const [[key, value] = ["", ""], ...more] = entries;
  const digits = pattern.exec(value)?.[1];
  if (key === KEY && digits !== undefined && more.length === 0) return digits;
  return refuse(
    "hash-mismatch",
    `metadata ${quote(key)}: ${quote(value)} should be the file's hash, and is damaged; load an earlier file or a copy of it`,
  );
}

/** The other metadata entries. */
export function withoutHash(metadata: Metadata): readonly (readonly [string, string])[] {
  return [...metadata].filter((entry) => !isHash(entry));
}
