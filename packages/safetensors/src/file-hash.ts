// The hash in a file: SHA-256 of the same file without the hash's entry. It covers names, shapes, dtypes and metadata,
// and stays valid when another program writes the same tensors and metadata in another order or with other padding.
import { sha256 } from "#sha256";
import { quote, refuse, refuseArgument } from "./problem.js";

const KEY = "mp.sha256";
/** The metadata value. Its prefix identifies it even if the key is damaged. */
const pattern = /^mp\.sha256:([0-9a-f]{64})$/;

type Metadata = Iterable<readonly [string, string]>;

const isHash = ([key, value]: readonly [string, string]): boolean => key === KEY || pattern.test(value);

export class FileHash {
  readonly #hash = sha256();

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  /** The hash as 64 hex digits; nothing can be added afterwards. */
  digest(): string {
    return this.#hash.digest();
  }

  /** @throws SAFETENSORS_PARSE if the content has another hash, and so is not what was written */
  expect(expected: string): void {
    const found = this.digest();
    if (found === expected) return;
    const problem = `the content is not what was written; load an earlier file or a copy of it, or, where another program has changed the file on purpose, write it there without the metadata ${KEY}`;
    refuse("hash-mismatch", problem, { expected, found });
  }
}

/** The metadata entry with the hash. */
export function hashEntry(hash: FileHash): readonly [string, string] {
  return [KEY, `mp.sha256:${hash.digest()}`];
}

/** @throws SAFETENSORS_INVALID_ARGUMENT for metadata with a hash, or an entry that looks like one */
export function checkNoHash(metadata: Metadata): void {
  const found = [...metadata].find(isHash);
  if (found === undefined) return;
  refuseArgument(
    `safetensors: metadata ${quote(found[0])} is the place or the form of the file's own hash, which is written by itself; leave it out`,
  );
}

/**
 * Separates the hash from the other metadata: 64 hex digits, or undefined for a file without a hash.
 * @throws SAFETENSORS_PARSE if the hash has a damaged key or form, or if there are several
 */
export function splitHash(metadata: Metadata): {
  readonly expected: string | undefined;
  readonly others: readonly (readonly [string, string])[];
} {
  const entries = [...metadata];
  const others = entries.filter((entry) => !isHash(entry));
  const [first, ...more] = entries.filter(isHash);
  if (first === undefined) return { expected: undefined, others };
  const [key, value] = first;
  const expected = pattern.exec(value)?.[1];
  if (key === KEY && expected !== undefined && more.length === 0) return { expected, others };
  return refuse(
    "hash-mismatch",
    `metadata ${quote(key)}: ${quote(value)} should be the file's hash, and is damaged; load an earlier file or a copy of it`,
  );
}
