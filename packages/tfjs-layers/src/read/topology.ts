// The JSON of a model, as `save` of tfjs or the converter from Keras writes it.
import { MpError } from "@mp/graph";
import type { ReadLayer } from "../plan.js";
import { isObject, type JsonObject, quote, refuseFile } from "../problem.js";
import { isKerasText, refuseKeras } from "./keras-file.js";
import type { ModelPlan } from "./model-plan.js";

export interface ModelFile {
  readonly name: string;
  readonly plan: ModelPlan;
  readonly weightsManifest: unknown;
}

/** Parses a model.json. @throws MP_PARSE if malformed, MP_UNSUPPORTED for a GraphModel or a Keras file */
export function parseModel(path: string, text: string, read: ReadLayer): ModelFile {
  const file = parseJson(path, text);
  const { modelTopology, weightsManifest } = file;
  if (file["format"] === "graph-model" || (isObject(modelTopology) && "node" in modelTopology)) {
    throw new MpError(
      "MP_UNSUPPORTED",
      `fromTfjs: ${quote(path)} is a GraphModel, whose layers are gone; convert the Keras model with --output_format=tfjs_layers_model, or its SavedModel to ONNX with tf2onnx and read that with fromOnnx`,
      { details: { path } },
    );
  }
  if (!isObject(modelTopology)) return refuseFile(`${quote(path)} has no modelTopology`, { path });
  const config = isObject(modelTopology["model_config"]) ? modelTopology["model_config"] : modelTopology;
  const { name, plan } = inDepth(path, () => read(config));
  if (!("inputs" in plan)) return refuseFile(`${quote(path)} is a layer instead of a model`, { path });
  return { name, plan: plan as ModelPlan, weightsManifest };
}

function parseJson(path: string, text: string): JsonObject {
  if (isKerasText(text)) refuseKeras(path);
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed)) return parsed;
  } catch (cause) {
    throw new MpError("MP_PARSE", `fromTfjs: ${quote(path)} is not JSON`, { cause, details: { path } });
  }
  return refuseFile(`${quote(path)} is no object`, { path });
}

/** Returns the result of `read`. @throws MP_PARSE if the file's nesting overflows the stack */
function inDepth<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) refuseFile(`${quote(path)} is nested too deeply`, { path });
    throw error;
  }
}
