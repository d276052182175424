import { join } from "node:path";
import { type Tensor, zeros } from "@mp/core";
import { checks, readOptions } from "@mp/graph/internal";
import { readFields } from "../fields/config-fields.js";
import { ignoreOption } from "../fields/field-checks.js";
import { fillTrees } from "../safetensors/filling.js";
import { readJson } from "../safetensors/json-file.js";
import { nameTensors } from "../safetensors/load-safetensors.js";
import { openWeights } from "../safetensors/open-weights.js";
import { expectComplete } from "../safetensors/report.js";
import { type AdaptableModel, expectAdaptable, type NamedParameters } from "./adaptable-model.js";
import { ADAPTER_FIELDS } from "./adapter-fields-table.js";
import { buildTree } from "./adapter-tree.js";
import type { LinearPlace } from "./linear-place.js";
import { type Lora, type LoraOptions, lora } from "./lora.js";
import { FILES, PREFIX } from "./save-adapter.js";
import { filterNames, selectLayers } from "./targets.js";

export interface LoadAdapterOptions {
  /** Unknown fields of adapter_config.json to accept because they do not affect the result; default []. */
  readonly ignore?: readonly string[];
}

export interface LoadedAdapter<I, O = Tensor> {
  readonly adapted: Lora<I, O>;
  readonly adapters: NamedParameters;
}

const REMEDY =
  "load it onto the model that it was trained on, which base_model_name_or_path of its adapter_config.json names";

/**
 * Loads an adapter that `saveAdapter` or peft wrote: the model with the adapter, and the adapter's weights in f32.
 * @throws MP_IO for missing files, MP_PARSE for broken ones; MP_UNSUPPORTED for another kind of adapter;
 *   MP_CHECKPOINT_MISMATCH for one of another model
 */
export async function loadAdapter<I, O = Tensor>(
  folder: string,
  model: AdaptableModel<I, O>,
  options: LoadAdapterOptions = {},
): Promise<LoadedAdapter<I, O>> {
  checks.path("loadAdapter: folder", folder);
  expectAdaptable("loadAdapter", model);
  const { ignore } = readOptions(
    "loadAdapter",
    options,
    { ignore: ignoreOption },
    { example: '{ ignore: ["notes"] }' },
  );
  const [weights, config] = FILES.map((name) => join(folder, name)) as [string, string];
  const fields = readFields(
    `loadAdapter: ${config}`,
    await readJson("loadAdapter", config),
    ADAPTER_FIELDS,
    ignore,
  );
  const subject = { what: "loadAdapter", path: weights, remedy: () => REMEDY };
  const file = await openWeights(subject);
  const { nameAt } = nameTensors("loadAdapter", file, [[PREFIX, ""]]);
  const places = model.linearLayers.filter(({ path }) => nameAt.has(`${path}/lora_A/weight`));
  const rank = fields["r"] as number;
  const adapters = buildTree(places, ({ inputs, outputs }) => ({
    down: zeros([rank, inputs]),
    up: zeros([outputs, rank]),
  }));
  const { loaded, report } = fillTrees({ adapters }, { nameAt, file });
  const names = targetNames(fields);
  const left =
    names === undefined
      ? []
      : selectLayers(model.linearLayers, names).filter((each) => !places.includes(each));
  const others = left.map(({ path }) => `${path} is a target, and the file has no adapter for it`);
  if (nameAt.size === 0) others.push("it has no adapters");
  expectComplete(subject, report, [], others);
  const settings: LoraOptions = {
    rank,
    alpha: fields["lora_alpha"] as number,
    dropout: fields["lora_dropout"] as number,
    useRslora: fields["use_rslora"] as boolean,
    targets: nameTargets(model, places, names),
  };
  return { adapted: lora(model, settings), adapters: loaded.adapters };
}

/**
 * The names of `target_modules` if they alone select the layers; undefined for a pattern or if other fields select too.
 */
function targetNames(fields: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const names = fields["target_modules"];
  const others = ["exclude_modules", "layers_to_transform", "layers_pattern"];
  return Array.isArray(names) && others.every((name) => fields[name] === undefined)
    ? names.map(String)
    : undefined;
}

/** Names for the adapted layers: short ones if these select exactly those layers, else whole paths. */
function nameTargets(
  { linearLayers }: AdaptableModel<never, unknown>,
  places: readonly LinearPlace[],
  names: readonly string[] = [],
): readonly string[] {
  const short = filterNames(linearLayers, names);
  return selectLayers(linearLayers, short).length === places.length
    ? short
    : places.map(({ path }) => path.replaceAll("/", "."));
}
