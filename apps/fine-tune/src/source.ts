import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageError } from "@mp/cli";
import { download } from "@mp/hub";
import type { Options } from "./flags.js";
import { makeTiny } from "./tiny.js";

/** The folder of a model, and the texts. */
export interface Source {
  readonly folder: string;
  /** Files of texts: to train on, and for evaluation. */
  readonly train: string;
  readonly heldOut: string;
  readonly name: string;
  /** Texts to pretrain a model with new weights. */
  readonly pretrain?: string | undefined;
}

/** Runs a function with the model and texts that the flags name; without flags, with a tiny model and its texts. */
export async function withSource<T>(options: Options, run: (source: Source) => Promise<T>): Promise<T> {
  const { model, texts, heldOut, data } = options;
  if (data !== undefined) throw new UsageError(`--data ${data}: texts are a file, --texts FILE`);
  if (heldOut !== undefined && texts === undefined) throw new UsageError("--held-out needs --texts");
  const made = await mkdtemp(join(tmpdir(), "mp-fine-tune-"));
  try {
    const isWhole = model !== undefined && texts !== undefined;
    const tiny = isWhole ? undefined : await makeTiny(made, options.seed);
    return await run({
      folder: model === undefined ? made : await findFolder(model),
      name: model ?? "tiny",
      train: texts ?? (tiny?.train as string),
      heldOut: heldOut ?? texts ?? (tiny?.heldOut as string),
      pretrain: model === undefined ? tiny?.pretrain : undefined,
    });
  } finally {
    await rm(made, { recursive: true });
  }
}

async function findFolder(model: string): Promise<string> {
  const found = await stat(model).catch(() => undefined);
  if (found?.isDirectory()) return model;
  if (found !== undefined) throw new UsageError(`--model ${model}: is a file, name its folder`);
  if (!/^[\w.-]+\/[\w.-]+$/.test(model))
    throw new UsageError(`--model ${model}: must be a folder, or a name on the hub such as org/name`);
  return await download(model, { files: ["*.json", "*.jinja", "*.safetensors"] });
}
