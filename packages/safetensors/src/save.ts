import { checkNoHash, FileHash, hashEntry, splitHash } from "./file-hash.js";
import type { SafetensorsLimits } from "./limits.js";
import { parse } from "./parse.js";
import { checkTensors, concatenate, encodeHeader, inWritingOrder, nonEmptyData } from "./serialize.js";
import { type LoadedTensors, toRecord, type WritableTensor } from "./tensor.js";

/**
 * Encodes tensors as the bytes that `saveFile` writes. The metadata get one more entry, `mp.sha256`: a hash of everything
 * else, which `load` and `loadFile` check. The result is a second copy of the tensors.
 * @throws SAFETENSORS_INVALID_ARGUMENT for metadata with this entry, and for tensors or names that the format cannot
 * store
 */
export function save(
  tensors: Readonly<Record<string, WritableTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const pieces = checkTensors(Object.entries(tensors));
  const entries = Object.entries(metadata);
  const data = nonEmptyData(pieces);
  const header = encodeHeader(pieces, entries);
  checkNoHash(entries);
  const hash = new FileHash();
  for (const chunk of [header, ...data]) hash.update(chunk);
  return concatenate([encodeHeader(pieces, [...entries, hashEntry(hash)]), ...data]);
}

/**
 * Reads the bytes of a safetensors file, and copies the tensors. Returns only if all of it is valid. If the metadata have a
 * hash from `save` or `saveFile`, the content must match it, and the returned metadata lack the entry. Files without a
 * hash are accepted.
 * @throws SAFETENSORS_PARSE with `details.problem`, SAFETENSORS_INVALID_ARGUMENT unless given a `Uint8Array`
 */
export function load(bytes: Uint8Array, limits: SafetensorsLimits = {}): LoadedTensors {
  const file = parse(bytes, limits);
  const { expected, others } = splitHash(file.metadata);
  const entries = inWritingOrder(file.tensors);
  if (expected !== undefined) {
    const hash = new FileHash();
    hash.update(encodeHeader(entries, others));
    for (const [, { data }] of entries) hash.update(data);
    hash.expect(expected);
  }
  return {
    tensors: toRecord(entries.map(([name, tensor]) => [name, { ...tensor, data: tensor.data.slice() }])),
    metadata: toRecord(others),
  };
}
