import { join } from "node:path";
import { MpError, type Tensor, zeros } from "@mp/core";
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
import { type Lora, type LoraOptions, loraBeside, noteSettings } from "./lora.js";
import { FILES, PREFIX } from "./save-adapter.js";
import { adapterPath, findSaved, layersAbove, listLacking, NOTHING_SAVED } from "./saved-weights.js";
import { filterNames, selectLayers } from "./targets.js";
import { put } from "./tree-part.js";

export interface LoadAdapterOptions {
  /** Unknown fields of adapter_config.json to accept because they do not affect the result; default []. */
  readonly ignore?: readonly string[];
}

export interface LoadedAdapter<I, O = Tensor> {
  readonly adapted: Lora<I, O>;
  readonly adapters: NamedParameters;
}

const OPTIONS = { ignore: ignoreOption };
const REMEDY =
  "load it onto the model that it was trained on, which base_model_name_or_path of its adapter_config.json names";

/**
 * Loads an adapter that `saveAdapter` or peft wrote. Returns the model with adapters, and the adapters' weights in f32.
 * @throws MP_IO for missing files, MP_PARSE for broken ones; MP_UNSUPPORTED for another kind of adapter;
 *   MP_CHECKPOINT_MISMATCH for an adapter of another model
 */
export async function loadAdapter<I, O = Tensor>(
  folder: string,
  model: AdaptableModel<I, O>,
  options: LoadAdapterOptions = {},
): Promise<LoadedAdapter<I, O>> {
  checks.path("loadAdapter: folder", folder);
  expectAdaptable("loadAdapter", model);
  const { ignore } = readOptions("loadAdapter", options, OPTIONS, { example: '{ ignore: ["notes"] }' });
  const [weights, config] = FILES.map((name) => join(folder, name)) as [string, string];
  const written = await readJson("loadAdapter", config);
  const fields = readFields(`loadAdapter: ${config}`, written, ADAPTER_FIELDS, ignore);
  const subject = { what: "loadAdapter", path: weights, remedy: () => REMEDY };
  const file = await openWeights(subject);
  const pathOf = (name: string) => adapterPath(name, file)?.replace(PREFIX, "");
  const nameAt = new Map(nameTensors("loadAdapter", file, pathOf).nameAt);
  const ofEmbeddings = [...file.keys()].find((name) => name.includes(".lora_embedding_"));
  if (ofEmbeddings !== undefined)
    throw new MpError(
      "MP_UNSUPPORTED",
      `loadAdapter: ${weights} has ${ofEmbeddings}, and adapters of embeddings are not computed; train the embeddings themselves, by modules_to_save of peft, or merge it in Python`,
      { details: { path: weights } },
    );
  const { weights: own } = model;
  const modules = fields["modules_to_save"] as readonly string[];
  const saved = own === undefined ? NOTHING_SAVED : findSaved(own, modules, file, nameAt);
  const linearLayers = own === undefined ? model.linearLayers : layersAbove(model.linearLayers, own, saved);
  const places = linearLayers.filter(({ path }) => nameAt.has(`${path}/lora_A/weight`));
  const rank = fields["r"] as number;
  const pairs = buildTree(places, ({ inputs, outputs }) => ({
    down: zeros([rank, inputs]),
    up: zeros([outputs, rank]),
  }));
  const adapters = [...saved.shapes].reduce((tree, [path, shape]) => put(tree, path, zeros(shape)), pairs);
  const { loaded, report } = fillTrees({ adapters }, { nameAt, file });
  const names = targetNames(fields);
  const left = selectLayers(linearLayers, names ?? []).filter((each) => !places.includes(each));
  const lacking = listLacking(modules, own, saved);
  const others = [
    ...left.map(({ path }) => `${path} is a target, and the file has no adapter for it`),
    ...(nameAt.size === 0 ? ["it has no adapters"] : []),
    ...lacking.map(
      (name) => `${name} is in modules_to_save, and the file has no weight of it for this model`,
    ),
  ];
  expectComplete(subject, report, [], others);
  const settings: LoraOptions = {
    rank,
    alpha: fields["lora_alpha"] as number,
    dropout: fields["lora_dropout"] as number,
    useRslora: fields["use_rslora"] as boolean,
    targets: nameTargets(linearLayers, places, names),
  };
  const adapted = loraBeside({ ...model, linearLayers }, settings, saved);
  return { adapted, adapters: noteSettings(adapted.settings, loaded.adapters) };
}

/** The names in `target_modules`, if these alone select the layers; undefined for a pattern or further fields. */
function targetNames(fields: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const names = fields["target_modules"];
  const others = ["exclude_modules", "layers_to_transform", "layers_pattern"];
  return Array.isArray(names) && others.every((name) => fields[name] === undefined)
    ? names.map(String)
    : undefined;
}

/** Names for the adapted layers: those of `names` if they select exactly these layers, else full paths. */
function nameTargets(
  linearLayers: readonly LinearPlace[],
  places: readonly LinearPlace[],
  names: readonly string[] = [],
): readonly string[] {
  const short = filterNames(linearLayers, names);
  return selectLayers(linearLayers, short).length === places.length
    ? short
    : places.map(({ path }) => path.replaceAll("/", "."));
}
