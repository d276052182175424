// The tensors of a file, or of the shards that an index names. An index comes from strangers, and must not make this
// process read files elsewhere. After links are followed, a shard must lie in the index's folder itself. In a hub
// cache, whose snapshots consist of links, it may lie among the blobs of the same repository.
import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MpError } from "@mp/core";
import { checks } from "@mp/graph/internal";
import type { SafetensorsTensor } from "@mp/safetensors";
import { loadFile } from "@mp/safetensors/file";
import { AGAIN, isRecord, reading, readJson } from "./json-file.js";
import { inOwnCodes } from "./own-codes.js";

export type FileTensors = ReadonlyMap<string, SafetensorsTensor>;

/** A file to open, and the name of the public function for messages. */
export type Opening = Readonly<Record<"what" | "path", string>>;

/** Reads a file or all shards of an index. @throws MP_INVALID_ARGUMENT, MP_IO, MP_PARSE, MP_OUT_OF_MEMORY */
export async function openWeights(opening: Opening): Promise<FileTensors> {
  const { what, path } = opening;
  checks.path(`${what}: the path`, path);
  return path.endsWith(".json") ? shards(opening) : new Map(Object.entries(await loadTensors(opening)));
}

async function loadTensors({ what, path }: Opening): Promise<Readonly<Record<string, SafetensorsTensor>>> {
  return (await inOwnCodes(what, () => loadFile(path))).tensors;
}

async function shards(index: Opening): Promise<FileTensors> {
  const { what } = index;
  const placeOf = await weightMap(index);
  const folder = await reading(what, index.path, () => realpath(dirname(index.path)));
  const byShard = new Map<string, Readonly<Record<string, SafetensorsTensor>>>();
  for (const shard of new Set(placeOf.values()))
    byShard.set(shard, await loadTensors({ what, path: await placeIn(folder, shard, index) }));
  return new Map(
    [...placeOf].map(([name, shard]) => {
      const tensor = byShard.get(shard)?.[name];
      if (tensor === undefined) refuse(index, `${JSON.stringify(name)} is not in its shard ${shard}`);
      return [name, tensor];
    }),
  );
}

/** @throws MP_PARSE for a shard outside of the folder */
async function placeIn(folder: string, shard: string, index: Opening): Promise<string> {
  const isName = shard === basename(shard) && !/[\\\0]/.test(shard) && shard !== "." && shard !== "..";
  if (!isName) refuse(index, `the shard ${JSON.stringify(shard)} is not the name of a file beside the index`);
  const place = join(folder, shard);
  const found = await reading(index.what, place, () => realpath(place));
  if (dirname(found) === folder || dirname(found) === blobFolder(folder)) return found;
  return refuse(
    index,
    `the shard ${JSON.stringify(shard)} is a link out of the folder`,
    "copy the files themselves there, as hf download --local-dir does",
  );
}

/** The folder to which links in a snapshot lead: `<repository>/blobs`; undefined outside of a snapshot. */
function blobFolder(folder: string): string | undefined {
  const [, repository] = /^(.*)[\\/]snapshots[\\/][0-9a-f]{40}(?=$|[\\/])/.exec(folder) ?? [];
  return repository === undefined ? undefined : join(repository, "blobs");
}

async function weightMap(index: Opening): Promise<ReadonlyMap<string, string>> {
  const { what, path } = index;
  const { weight_map: map } = await readJson(what, path);
  if (!isRecord(map)) return refuse(index, "it has no weight_map");
  return new Map(
    Object.entries(map).map(([name, shard]) => {
      if (typeof shard !== "string") refuse(index, `the shard of ${JSON.stringify(name)} is no text`);
      return [name, shard];
    }),
  );
}

function refuse({ what, path }: Opening, problem: string, remedy = AGAIN): never {
  throw new MpError("MP_PARSE", `${what}: ${path} is not a usable index of shards: ${problem}; ${remedy}`, {
    details: { path },
  });
}
