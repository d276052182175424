import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { MpError } from "@mp/graph";
import type { NodeInit } from "../graph/node-def.js";
import { SavedModelSchema } from "../proto/saved_model_pb.js";

/** The tag that selects the graph in the SavedModel. */
export const TAG = "mp";

/** A GraphDef version since which no used op has changed its meaning; TensorFlow 2.9 and later read it. */
const GRAPH_VERSION = 1087;

/**
 * Encodes a `saved_model.pb` with one graph. It needs no checkpoint and no signature, because nodes are fed
 * and fetched by name.
 */
function encodeSavedModel(nodes: readonly NodeInit[]): Uint8Array {
  return toBinary(
    SavedModelSchema,
    create(SavedModelSchema, {
      savedModelSchemaVersion: 1n,
      metaGraphs: [
        {
          metaInfoDef: { tags: [TAG] },
          graphDef: { node: [...nodes], versions: { producer: GRAPH_VERSION } },
        },
      ],
    }),
  );
}

/**
 * Writes the nodes as a SavedModel to a temporary folder, calls `use` with the folder and removes it.
 * @throws MP_BACKEND_FAILED if the temporary folder cannot be written
 */
export async function withSavedModel<R>(nodes: readonly NodeInit[], use: (folder: string) => R): Promise<R> {
  const folder = await writeFolder(encodeSavedModel(nodes));
  try {
    return use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeFolder(bytes: Uint8Array): Promise<string> {
  const parent = tmpdir();
  try {
    const folder = await mkdtemp(join(parent, "mp-tfjs-"));
    await writeFile(join(folder, "saved_model.pb"), bytes);
    return folder;
  } catch (cause) {
    throw new MpError(
      "MP_BACKEND_FAILED",
      `tfjs: TensorFlow loads its graph from a file, and ${parent} cannot be written: ${String(cause)}; set TMPDIR to a folder with ${bytes.byteLength} free bytes`,
      { cause, details: { folder: parent, bytes: bytes.byteLength } },
    );
  }
}
