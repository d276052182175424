import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type HostTensor, tensor } from "@mp/core";
import { arrayOf } from "@mp/safetensors";
import { loadFile } from "@mp/safetensors/file";

/** The models of `peers/onnx_models.py` by name, in the order of the table. */
export const MODELS = [
  "resnet18",
  "mobilenet_v3_small",
  "bert",
  "gpt2",
  "vit",
  "lstm",
  "unet",
  "encoder_decoder",
  "mobilenet_v2",
  "unet_groupnorm",
  "clip",
  "deberta_v2",
  "vae_prelu",
] as const;

export type ModelName = (typeof MODELS)[number];

/** A model that PyTorch exported, with PyTorch's output and losses. */
export interface ExportedModel {
  readonly path: string;
  readonly inputs: Readonly<Record<string, HostTensor>>;
  readonly labels: HostTensor;
  /** PyTorch's output in evaluation mode. */
  readonly logits: HostTensor;
  /** Losses before each step of SGD, and after the last. */
  readonly losses: readonly number[];
  readonly learningRate: number;
  readonly classAxis: number;
  /** Number of elements of all parameters. */
  readonly parameters: number;
  /** Number of nodes in the file. */
  readonly nodes: number;
}

type Metadata = Pick<ExportedModel, "losses" | "learningRate" | "classAxis" | "parameters" | "nodes">;

export async function readExportedModel(folder: string, name: ModelName): Promise<ExportedModel> {
  const metadata = JSON.parse(await readFile(join(folder, `${name}.json`), "utf8")) as Metadata;
  const { tensors } = await loadFile(join(folder, `${name}.safetensors`));
  const read = (key: string): HostTensor => {
    const found = tensors[key];
    if (found === undefined) throw new Error(`${name}.safetensors has no ${key}`);
    return tensor(arrayOf(found) as Float32Array, found.shape);
  };
  const inputs = Object.keys(tensors).filter((key) => key.startsWith("input/"));
  return {
    ...metadata,
    path: join(folder, `${name}.onnx`),
    inputs: Object.fromEntries(inputs.map((key) => [key.slice("input/".length), read(key)])),
    labels: read("labels"),
    logits: read("output/logits"),
  };
}
