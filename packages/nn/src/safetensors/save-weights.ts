/** Writes models and adapters in Hugging Face's form; each file is replaced as a whole or not at all. */
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type HostTensor, isHostTensor, leavesOf, MpError } from "@mp/core";
import { saveFile, writeFileAtomically } from "@mp/safetensors/file";
import { inOwnCodes } from "./own-codes.js";

const NAMES: Readonly<Record<string, "F32" | "BF16">> = { f32: "F32", bf16: "BF16" };

export interface PublishedFolder {
  /** Names of the two files: the weights, and the configuration that describes them. */
  readonly names: readonly [weights: string, config: string];
  /** Tree of the weights; leaves are saved under their paths, with dots instead of slashes. */
  readonly tree: object;
  readonly config: object;
  /** Prefix of the names of all tensors. */
  readonly prefix: string;
}

/**
 * Writes weights, and then their configuration, into a folder, which is created if missing.
 * @throws MP_IO; MP_DTYPE_MISMATCH for weights that are neither f32 nor bf16
 */
export async function saveFolder(
  what: string,
  folder: string,
  { names: [weights, config], tree, config: described, prefix }: PublishedFolder,
): Promise<void> {
  const tensors = leavesOf<HostTensor>(tree, isHostTensor, `${what}: weights`).map(([path, leaf]) => {
    const dtype = NAMES[leaf.dtype];
    if (dtype === undefined)
      throw new MpError(
        "MP_DTYPE_MISMATCH",
        `${what}: weights must be f32 or bf16, got ${leaf.dtype} at ${path}; merge of lora gives those of an int8 or nf4 base in f32`,
      );
    const { shape, data } = leaf;
    return [`${prefix}${path.replaceAll("/", ".")}`, { dtype, shape, data }] as const;
  });
  await makeFolder(folder).catch((cause: NodeJS.ErrnoException) => {
    throw new MpError(
      "MP_IO",
      `${what}: cannot make the folder ${folder}: ${cause.message}; pass a path where no file is and where you may write`,
      { cause, details: { path: folder, errno: cause.code } },
    );
  });
  const text = Buffer.from(`${JSON.stringify(described, null, 2)}\n`);
  await inOwnCodes(what, async () => {
    await saveFile(join(folder, weights), Object.fromEntries(tensors), { format: "pt" });
    await writeFileAtomically(join(folder, config), [text]);
  });
}

/** Works like a recursive `mkdir`, which would never return in places such as /proc. */
async function makeFolder(folder: string): Promise<void> {
  if (await isFolder(folder)) return;
  if (dirname(folder) !== folder) await makeFolder(dirname(folder));
  await mkdir(folder).catch(async (error: unknown) => {
    // Another process may have made it.
    if (!(await isFolder(folder))) throw error;
  });
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
