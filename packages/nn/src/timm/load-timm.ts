import { join } from "node:path";
import { key, zeros } from "@mp/core";
import { checks } from "@mp/graph/internal";
import {
  type FieldTable,
  type FieldValues,
  optional,
  readFields,
  required,
  unused,
} from "../fields/config-fields.js";
import { readJson } from "../safetensors/json-file.js";
import { loadStored } from "../safetensors/load-safetensors.js";
import { drawSpecs, mapSpecs, type SpecTree } from "./part.js";
import { readTimm, type TimmArgs, type TimmModel, type TimmWeights } from "./timm-model.js";

/** A model with the values that the trainer starts from. */
export interface LoadedTimm {
  readonly model: TimmModel;
  readonly params: TimmWeights;
  readonly modelState: TimmWeights;
  /** Mean and deviation of each channel that the images were normalized with, for `imageBatches`, if the file has them. */
  readonly normalize?: { readonly mean: readonly number[]; readonly deviation: readonly number[] };
}

const CONFIG: FieldTable = {
  architecture: required(checks.text),
  num_classes: optional(checks.integer(0), 1000),
  model_args: optional(checks.object, {}),
  pretrained_cfg: optional(checks.object, {}),
  ...unused("num_features global_pool label_names label_descriptions"),
};

interface Config {
  readonly architecture: string;
  readonly num_classes: number;
  readonly model_args: TimmArgs;
  readonly pretrained_cfg: Readonly<Record<string, unknown>>;
}

/**
 * Loads a model of timm from a folder as the hub has it: `config.json`, which names the model, and
 * `model.safetensors`. `args` replace those of the file. With another `num_classes` the last layer is new, drawn
 * from `seed`, as `timm.create_model(…, pretrained=True, num_classes=10)` does.
 * @throws MP_IO for missing files, MP_PARSE for broken ones; MP_CHECKPOINT_MISMATCH for weights of another model; as
 *   `timmModel` for the name and the arguments
 */
export async function loadTimm(
  folder: string,
  { seed = 0, ...args }: TimmArgs & { readonly seed?: number } = {},
): Promise<LoadedTimm> {
  checks.path("loadTimm: folder", folder);
  const file = join(folder, "config.json");
  const { ignore = [] } = args;
  const fields = readFields("loadTimm: config", await readJson("loadTimm", file), CONFIG, ignore);
  const { architecture, num_classes, model_args, pretrained_cfg: trained } = fields as unknown as Config;
  const stored = { num_classes, ...model_args };
  const { model, part } = readTimm(architecture, { ...stored, ...args });
  const head = model.classifier;
  const isSame = model.args["num_classes"] === stored.num_classes;
  const { [head]: last, ...body } = part.parameters as { readonly [name: string]: SpecTree };
  const { loaded } = await loadStored(
    {
      what: "loadTimm",
      path: join(folder, "model.safetensors"),
      remedy: () => `correct ${file}, or pass the arguments of create_model that the weights were made with`,
    },
    { params: blank(isSame ? part.parameters : body), modelState: blank(part.statistics) },
    { rename: (name) => (isSame || !name.startsWith(`${head}.`) ? name : undefined) },
  );
  const isNew = !isSame && last !== undefined;
  const params = isNew ? { ...loaded.params, [head]: drawSpecs(last, key(seed)) } : loaded.params;
  return { model, params, modelState: loaded.modelState, ...readStatistics(trained) };
}

const blank = (tree: SpecTree): TimmWeights => mapSpecs(tree, ({ shape }) => zeros(shape)) as TimmWeights;

const numbers = optional(checks.listOf("numbers", Number.isFinite));

function readStatistics(trained: FieldValues): Pick<LoadedTimm, "normalize"> {
  const table = { mean: numbers, std: numbers };
  const { mean, std } = readFields("loadTimm: pretrained_cfg", trained, table, Object.keys(trained));
  if (mean === undefined || std === undefined) return {};
  return { normalize: { mean: mean as readonly number[], deviation: std as readonly number[] } };
}
