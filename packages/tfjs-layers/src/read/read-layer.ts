import { LAYERS } from "../layers/layers.js";
import type { ReadLayer } from "../plan.js";
import { isObject, type JsonObject, refuseFile } from "../problem.js";
import { Settings } from "../settings.js";
import { functionalPlan, sequentialPlan } from "./model-plan.js";

const MODELS: Readonly<Record<string, typeof functionalPlan>> = {
  Sequential: sequentialPlan,
  Model: functionalPlan,
  Functional: functionalPlan,
};

/** Reasons and remedies for classes that cannot be read. */
const REFUSED: Readonly<Record<string, string>> = {
  Lambda:
    "its function is code of another language; replace it by layers, or export the model as ONNX and use fromOnnx",
  Masking: "masks of time steps are not read; pad to one length, or mask in the loss",
};

/** Deepest nesting of layers; a deeper model would overflow the stack. */
const MOST_DEEP = 100;

/** @throws MP_UNSUPPORTED for a class or option that is not read, naming the layer; MP_PARSE if malformed */
export const readLayer: ReadLayer = (json) => readAt(json, 0);

const readAt = (json: JsonObject, depth: number): ReturnType<ReadLayer> => {
  if (depth > MOST_DEEP)
    return refuseFile(`layers are nested too deeply, more than ${MOST_DEEP} in one another`);
  const { name, settings } = readSettings(json);
  const { className } = settings;
  const kind = own(LAYERS, className) ?? own(MODELS, className);
  if (kind === undefined)
    return settings.refuse(own(REFUSED, className) ?? "layers of this kind are not read");
  const plan = kind(settings, (inside) => readAt(inside, depth + 1));
  return { name, plan: settings.config["trainable"] === false ? { ...plan, isFrozen: true } : plan };
};

const own = <T>(table: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

function readSettings(json: JsonObject): { readonly name: string; readonly settings: Settings } {
  const { class_name: className, config } = json;
  // In old files the config of a Sequential is its list of layers.
  const options = Array.isArray(config) ? { layers: config } : config;
  if (typeof className !== "string" || !isObject(options))
    return refuseFile("a layer has no class_name or config");
  const name = json["name"] ?? options["name"] ?? className.toLowerCase();
  if (typeof name !== "string" || name === "") return refuseFile(`a ${className} has no name`);
  return { name, settings: new Settings(name, className, options) };
}
