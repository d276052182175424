// Layers around a layer.
import type { Tensor } from "@mp/graph";
import { add, concat, mul, reshape, slice } from "@mp/graph/ops";
import { firstInput, type LayerKind } from "../plan.js";
import { isObject, type JsonObject, quote, refuseFile } from "../problem.js";
import type { Settings } from "../settings.js";

const timeDistributed: LayerKind = (settings, read) => {
  const inside = read(settings.object("layer"));
  return {
    children: [{ ...inside, isNamedByParent: true }],
    run: (call) => {
      const x = firstInput(call);
      const [batch = 1, time = 1, ...rest] = x.shape;
      const [y] = call.child(inside.name, [reshape(x, [batch * time, ...rest])]) as [Tensor];
      return reshape(y, [batch, time, ...y.shape.slice(1)]);
    },
  };
};

const MERGED: Readonly<Record<string, (a: Tensor, b: Tensor) => Tensor>> = {
  concat: (a, b) => concat([a, b], -1),
  sum: add,
  ave: (a, b) => mul(add(a, b), 0.5),
  mul,
};

/** Replaces options of a layer, and its name. */
function withOptions(json: JsonObject, options: JsonObject): JsonObject {
  return { ...json, name: options["name"], config: { ...(json["config"] as JsonObject), ...options } };
}

/** Adds the prefix that Bidirectional gives the names of its layers, unless the file has it already. */
function addPrefix(prefix: string, { name }: JsonObject): string {
  return String(name).startsWith(prefix) ? String(name) : `${prefix}${String(name)}`;
}

/** @throws MP_PARSE for a layer without a config */
function innerConfig(settings: Settings, { config }: JsonObject): JsonObject {
  return isObject(config)
    ? config
    : refuseFile(`the layer inside ${settings.className} ${quote(settings.name)} has no config`);
}

/** The layer for the other direction: `backward_layer`, which only Keras 3 writes, else a reversed copy of `layer`. */
function backwardLayer(settings: Settings, layer: JsonObject): JsonObject {
  const given = settings.config["backward_layer"];
  if (isObject(given))
    return withOptions(given, { name: addPrefix("backward_", innerConfig(settings, given)) });
  const config = innerConfig(settings, layer);
  const name = addPrefix("backward_", config);
  return withOptions(layer, { name, go_backwards: config["go_backwards"] !== true });
}

const bidirectional: LayerKind = (settings, read) => {
  const layer = settings.object("layer");
  const config = innerConfig(settings, layer);
  const sequences = config["return_sequences"] === true;
  const mode = settings.config["merge_mode"] ?? "none";
  const merge = typeof mode === "string" ? MERGED[mode] : undefined;
  if (merge === undefined && mode !== "none")
    settings.refuse(`merge_mode: ${JSON.stringify(mode)} is not read`);
  const [forward, backward] = [
    read(withOptions(layer, { name: addPrefix("forward_", config) })),
    read(backwardLayer(settings, layer)),
  ];
  return {
    children: [forward, backward],
    run: (call) => {
      const [x, ...states] = call.inputs as [Tensor, ...Tensor[]];
      const half = states.length / 2;
      const [a, ...after] = call.child(forward.name, [x, ...states.slice(0, half)]) as [Tensor, ...Tensor[]];
      const [b, ...afterBack] = call.child(backward.name, [x, ...states.slice(half)]) as [
        Tensor,
        ...Tensor[],
      ];
      const back = sequences ? slice(b, [{ axis: 1, step: -1 }]) : b;
      return [...(merge === undefined ? [a, back] : [merge(a, back)]), ...after, ...afterBack];
    },
  };
};

export const WRAPPER_LAYERS: Readonly<Record<string, LayerKind>> = {
  TimeDistributed: timeDistributed,
  Bidirectional: bidirectional,
};
