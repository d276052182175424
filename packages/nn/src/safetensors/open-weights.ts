// The tensors of a file, or of the shards that an index names. An index is data of strangers, and must not make this
// process read what is elsewhere: a shard lies in the index's folder itself, after its links are followed, or, in a cache
// of the hub, where files of snapshots are links, among the blobs of the same repository.
import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MpError } from "@mp/core";
import { checks } from "@mp/core/internal";
import type { SafetensorsTensor } from "@mp/safetensors";
import { loadFile } from "@mp/safetensors/file";
import { AGAIN, isRecord, parsedJson, reading } from "./json-file.js";
import { inOwnCodes } from "./own-codes.js";

/** The subject of messages. */
const WHAT = "loadSafetensors";

export type FileTensors = ReadonlyMap<string, SafetensorsTensor>;

/** Indexes of the largest models have some 100 kB; a file of this size is not one. */
const MOST_INDEX_BYTES = 64 * 2 ** 20;

/** @throws MP_INVALID_ARGUMENT for what is no path; MP_IO, MP_PARSE, MP_OUT_OF_MEMORY */
export async function openWeights(path: string): Promise<FileTensors> {
  checks.path("loadSafetensors: the path", path);
  return path.endsWith(".json") ? shards(path) : new Map(Object.entries(await tensorsOf(path)));
}

async function tensorsOf(path: string): Promise<Readonly<Record<string, SafetensorsTensor>>> {
  return (await inOwnCodes(WHAT, () => loadFile(path))).tensors;
}

async function shards(indexPath: string): Promise<FileTensors> {
  const placeOf = await weightMap(indexPath);
  const folder = await reading(WHAT, indexPath, () => realpath(dirname(indexPath)));
  const byShard = new Map<string, Readonly<Record<string, SafetensorsTensor>>>();
  for (const shard of new Set(placeOf.values()))
    byShard.set(shard, await tensorsOf(await placeIn(folder, shard, indexPath)));
  return new Map(
    [...placeOf].map(([name, shard]) => {
      const tensor = byShard.get(shard)?.[name];
      if (tensor === undefined) refuse(indexPath, `${JSON.stringify(name)} is not in its shard ${shard}`);
      return [name, tensor];
    }),
  );
}

/** @throws MP_PARSE for a shard outside of the folder */
async function placeIn(folder: string, shard: string, indexPath: string): Promise<string> {
  const isName = shard === basename(shard) && !/[\\\0]/.test(shard) && shard !== "." && shard !== "..";
  if (!isName) refuse(indexPath, `the shard ${JSON.stringify(shard)} is no name of a file beside the index`);
  const place = join(folder, shard);
  const found = await reading(WHAT, place, () => realpath(place));
  if (dirname(found) === folder || dirname(found) === blobsOf(folder)) return found;
  return refuse(
    indexPath,
    `the shard ${JSON.stringify(shard)} is a link out of the folder`,
    "copy the files themselves there, as hf download --local-dir does",
  );
}

/** The folder of blobs that a snapshot's links lead to: `<repository>/blobs` of `<repository>/snapshots/<commit>/…`. */
function blobsOf(folder: string): string | undefined {
  const [, repository] = /^(.*)[\\/]snapshots[\\/][0-9a-f]{40}(?=$|[\\/])/.exec(folder) ?? [];
  return repository === undefined ? undefined : join(repository, "blobs");
}

async function weightMap(path: string): Promise<ReadonlyMap<string, string>> {
  const text = await reading(WHAT, path, async () => {
    const found = await stat(path);
    if (!found.isFile()) throw Object.assign(new Error("no regular file"), { code: "ENOTREG" });
    if (found.size > MOST_INDEX_BYTES) refuse(path, `it has ${found.size} bytes`);
    return readFile(path, "utf8");
  });
  const parsed = parsedJson(WHAT, path, text);
  const map = isRecord(parsed) ? parsed["weight_map"] : undefined;
  if (!isRecord(map)) return refuse(path, "it has no weight_map");
  return new Map(
    Object.entries(map).map(([name, shard]) => {
      if (typeof shard !== "string") refuse(path, `the shard of ${JSON.stringify(name)} is no text`);
      return [name, shard];
    }),
  );
}

function refuse(path: string, problem: string, remedy = AGAIN): never {
  throw new MpError("MP_PARSE", `${WHAT}: ${path} is not a usable index of shards: ${problem}; ${remedy}`, {
    details: { path },
  });
}
