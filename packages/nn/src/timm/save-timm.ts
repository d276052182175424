import { isHostTensor } from "@mp/core";
import { checks } from "@mp/graph/internal";
import type { ParameterTree } from "../layer.js";
import { saveFolder } from "../safetensors/save-weights.js";
import type { LoadedTimm } from "./load-timm.js";
import type { TimmModel } from "./timm-model.js";

/**
 * Writes `model.safetensors` and `config.json` for `timm.create_model("local-dir:…")`. Each file is replaced as a
 * whole or not at all.
 * @throws MP_IO; MP_DTYPE_MISMATCH for weights that are neither f32 nor bf16
 */
export async function saveTimm(
  folder: string,
  model: TimmModel,
  { params, modelState, normalize }: Omit<LoadedTimm, "model">,
): Promise<void> {
  checks.path("saveTimm: folder", folder);
  const { architecture, args } = model;
  const { num_classes = 1000, ...model_args } = args;
  const pretrained_cfg = normalize === undefined ? {} : { mean: normalize.mean, std: normalize.deviation };
  await saveFolder("saveTimm", folder, {
    names: ["model.safetensors", "config.json"],
    tree: joined(params, modelState) as object,
    config: { architecture, num_classes, model_args, pretrained_cfg },
    prefix: "",
  });
}

/** One tree with the leaves of both. */
function joined(one: ParameterTree | undefined, other: ParameterTree | undefined): ParameterTree {
  if (one === undefined || other === undefined || isHostTensor(one)) return (one ?? other) as ParameterTree;
  const [first, second] = [one, other] as Record<string, ParameterTree>[];
  const keys = Object.keys({ ...first, ...second });
  return Object.fromEntries(keys.map((key) => [key, joined(first?.[key], second?.[key])]));
}
