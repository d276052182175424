import { checkNoHash, expectedHash, FileHash, hashEntry, withoutHash } from "./file-hash.js";
import type { SafetensorsLimits } from "./limits.js";
import { parse } from "./parse.js";
import { dataOf, headerOf, inWritingOrder, joined, piecesOf } from "./serialize.js";
import { type LoadedTensors, recordOf, type WritableTensor } from "./tensor.js";

/**
 * The bytes of a safetensors file whose metadata get one more entry, `mp.sha256`: a hash of everything else, which
 * `load` and `loadFile` check. The same bytes as the file of `saveFile`. Twice the tensors' memory.
 * @throws SAFETENSORS_INVALID_ARGUMENT for metadata that already have this entry, and for tensors or names that the
 * format cannot store
 */
export function save(
  tensors: Readonly<Record<string, WritableTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const pieces = piecesOf(Object.entries(tensors));
  const entries = Object.entries(metadata);
  const data = dataOf(pieces);
  const header = headerOf(pieces, entries);
  checkNoHash(entries);
  const hash = new FileHash();
  for (const chunk of [header, ...data]) hash.update(chunk);
  return joined([headerOf(pieces, [...entries, hashEntry(hash)]), ...data]);
}

/**
 * Reads the bytes of a safetensors file into memory of its own. Nothing is returned unless all of it is valid. If the
 * metadata have a hash from `save` or `saveFile`, the content must match it, and the entry is removed from the returned
 * metadata; files without a hash load too.
 * @throws SAFETENSORS_PARSE with `details.problem`
 */
export function load(bytes: Uint8Array, limits: SafetensorsLimits = {}): LoadedTensors {
  const file = parse(bytes, limits);
  const expected = expectedHash(file.metadata);
  const written = withoutHash(file.metadata);
  const entries = inWritingOrder(file.tensors);
  if (expected !== undefined) {
    const hash = new FileHash();
    hash.update(headerOf(entries, written));
    for (const [, { data }] of entries) hash.update(data);
    hash.expect(expected);
  }
  return {
    tensors: recordOf(entries.map(([name, tensor]) => [name, { ...tensor, data: tensor.data.slice() }])),
    metadata: recordOf(written),
  };
}
