/** Files of a folder as Hugging Face publishes models and adapters; each is replaced whole or not at all. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type HostTensor, isHostTensor, leavesOf, MpError } from "@mp/core";
import { saveFile, writeFileAtomically } from "@mp/safetensors/file";
import { inOwnCodes } from "./own-codes.js";

const NAMES: Readonly<Record<string, "F32" | "BF16">> = { f32: "F32", bf16: "BF16" };

export interface PublishedFolder {
  /** Names of the file of weights and of the one that describes them. */
  readonly names: readonly [weights: string, config: string];
  /** Its leaves are named by their paths with dots for slashes. */
  readonly tree: object;
  readonly config: object;
  /** Goes before each name. */
  readonly prefix: string;
}

/**
 * Writes weights and their description, in this order, into a folder that is made if it is missing.
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
        `${what}: weights must be f32 or bf16, got ${leaf.dtype} at ${path}`,
      );
    const { shape, data } = leaf;
    return [`${prefix}${path.replaceAll("/", ".")}`, { dtype, shape, data }] as const;
  });
  await mkdir(folder, { recursive: true }).catch((cause: NodeJS.ErrnoException) => {
    throw new MpError("MP_IO", `${what}: cannot make ${folder}: ${cause.code}`, {
      cause,
      details: { path: folder, errno: cause.code },
    });
  });
  const text = Buffer.from(`${JSON.stringify(described, null, 2)}\n`);
  await inOwnCodes(what, async () => {
    await saveFile(join(folder, weights), Object.fromEntries(tensors), { format: "pt" });
    await writeFileAtomically(join(folder, config), [text]);
  });
}
