// A model as a layer that calls other layers, sequential or functional, in an order in which every tensor is computed
// before it is used.
import type { Tensor } from "@mp/graph";
import type { ChildPlan, LayerKind, Plan, ReadLayer } from "../plan.js";
import { isObject, type JsonObject, quote, refuseArgument, refuseFile } from "../problem.js";
import { Settings } from "../settings.js";
import { parseRef, readCalls, type TensorRef } from "./inbound.js";

export interface ModelInput {
  readonly name: string;
  /** The shape, with null for open sizes; undefined if the file has none. */
  readonly shape: readonly (number | null)[] | undefined;
}

export interface ModelPlan extends Plan {
  readonly inputs: readonly ModelInput[];
  readonly outputs: readonly string[];
  /** The part of the model that computes the results of these layers. @throws MP_INVALID_ARGUMENT */
  upTo(outputs: readonly string[]): ModelPlan;
}

export type ModelKind = (settings: Settings, read: ReadLayer) => ModelPlan;

interface LayerCall {
  readonly layer: string;
  readonly inputs: readonly TensorRef[];
}

const callId = ({ layer, node }: Pick<TensorRef, "layer" | "node">): string => `${node}:${layer}`;

function readLayers(settings: Settings): readonly JsonObject[] {
  const { layers } = settings.config;
  if (!Array.isArray(layers) || !layers.every(isObject) || layers.length === 0)
    return refuseFile(`${settings.className} ${quote(settings.name)} has no list of layers`);
  return layers;
}

/** Reads an input's shape: `batch_shape` in Keras 3, `batch_input_shape` before. */
function readInput(json: JsonObject, name = layerName(json)): ModelInput {
  const { config } = json;
  const shape = isObject(config) ? (config["batch_shape"] ?? config["batch_input_shape"]) : undefined;
  return { name, shape: Array.isArray(shape) ? (shape as readonly (number | null)[]) : undefined };
}

const isInput = (json: JsonObject): boolean => json["class_name"] === "InputLayer";
const layerName = (json: JsonObject): string => {
  const { config } = json;
  return String(json["name"] ?? (isObject(config) ? config["name"] : undefined) ?? "input");
};

export const sequentialPlan: ModelKind & LayerKind = (settings, read) => {
  const layers = readLayers(settings);
  const [head, ...rest] = layers as [JsonObject, ...JsonObject[]];
  const children = (isInput(head) ? rest : layers).map(read);
  expectOwnNames(settings, children);
  const input = readInput(head, isInput(head) ? undefined : `${children[0]?.name}_input`);
  return chainPlan(children, input, [children.at(-1)?.name ?? input.name]);
};

function chainPlan(children: readonly ChildPlan[], input: ModelInput, outputs: readonly string[]): ModelPlan {
  return {
    children,
    inputs: [input],
    outputs,
    run: (call) => {
      const made = new Map<string, Tensor>();
      let tensors = call.inputs;
      for (const { name } of children) {
        tensors = call.child(name, tensors);
        made.set(name, tensors[0] as Tensor);
      }
      return outputs.map((name) => made.get(name) ?? (tensors[0] as Tensor));
    },
    upTo: (names) => {
      for (const name of names) findLayer(children, name);
      const last = children.findLastIndex(({ name }) => names.includes(name));
      return chainPlan(children.slice(0, last + 1), input, names);
    },
  };
}

/** Finds a layer. @throws MP_INVALID_ARGUMENT for an unknown name, listing the last layers, where heads are removed */
function findLayer(children: readonly ChildPlan[], name: string): ChildPlan {
  const last = children.slice(-5).map((child) => quote(child.name));
  return (
    children.find((child) => child.name === name) ??
    refuseArgument(`the model has no layer ${quote(name)}; the last ones are ${last.join(", ")}`)
  );
}

export const functionalPlan: ModelKind & LayerKind = (settings, read) => {
  const layers = readLayers(settings);
  const inputLayers = new Map(layers.filter(isInput).map((json) => [layerName(json), readInput(json)]));
  const calls = new Map<string, LayerCall>();
  const inputs = readRefs(settings, "input_layers");
  const children: ChildPlan[] = [];
  for (const json of layers.filter((layer) => !isInput(layer))) {
    const child = read(json);
    children.push(child);
    const options = new Settings(child.name, String(json["class_name"]), {});
    for (const [node, refs] of readCalls(options, json["inbound_nodes"]).entries())
      calls.set(callId({ layer: child.name, node }), { layer: child.name, inputs: refs });
  }
  expectOwnNames(settings, children);
  const ends = readRefs(settings, "output_layers");
  const resolve = callResolver(calls, ends);
  return graphPlan({ children, inputs, inputLayers, calls, resolve }, ends);
};

interface Connections {
  readonly children: readonly ChildPlan[];
  readonly inputs: readonly TensorRef[];
  readonly inputLayers: ReadonlyMap<string, ModelInput>;
  readonly calls: ReadonlyMap<string, LayerCall>;
  resolve(ref: TensorRef): string;
}

function graphPlan(connections: Connections, outputs: readonly TensorRef[]): ModelPlan {
  const { children, inputs, inputLayers, calls, resolve } = connections;
  const order = inOrder(calls, inputLayers, outputs, resolve);
  return {
    children,
    inputs: inputs.map(({ layer }) => inputLayers.get(layer) ?? { name: layer, shape: undefined }),
    outputs: outputNames(outputs),
    run: (call) => {
      const made = new Map<string, readonly Tensor[]>(
        inputs.map(({ layer }, at) => [callId({ layer, node: 0 }), [call.inputs[at] as Tensor]]),
      );
      const tensorAt = (ref: TensorRef): Tensor => {
        const tensor = made.get(resolve(ref))?.[ref.output];
        if (tensor === undefined) refuseFile(`${quote(ref.layer)} has no output ${ref.output}`);
        return tensor as Tensor;
      };
      for (const id of order) {
        const { layer, inputs: refs } = calls.get(id) as LayerCall;
        made.set(id, call.child(layer, refs.map(tensorAt)));
      }
      return outputs.map(tensorAt);
    },
    upTo: (names) => {
      const cut = names.map((name) => findOnlyCall(connections, name));
      const used = inOrder(calls, inputLayers, cut, resolve).map((id) => calls.get(id) as LayerCall);
      const isRead = (layer: string): boolean =>
        used.some((call) => call.inputs.some((ref) => ref.layer === layer));
      return graphPlan(
        {
          ...connections,
          children: children.filter(({ name }) => used.some(({ layer }) => layer === name)),
          inputs: inputs.filter(({ layer }) => isRead(layer)),
        },
        cut,
      );
    },
  };
}

/** Finds the only call of a layer. @throws MP_INVALID_ARGUMENT unless the layer is known and has exactly one call */
function findOnlyCall({ children, calls, resolve }: Connections, name: string): TensorRef {
  findLayer(children, name);
  const refs = [0, 1].map((node) => ({ layer: name, node, output: 0 }));
  const called = [...calls.values()].filter(({ layer }) => layer === name).length;
  const ref = refs.find((each) => calls.has(resolve(each)));
  if (ref === undefined || called > 1)
    return refuseArgument(`the layer ${quote(name)} is called ${called} times, and outputs take one`);
  return ref;
}

/** @throws MP_PARSE for two layers of the same name, whose weights could not be distinguished */
function expectOwnNames(settings: Settings, children: readonly ChildPlan[]): void {
  const known = new Set<string>();
  for (const { name } of children) {
    if (known.has(name))
      refuseFile(`${settings.className} ${quote(settings.name)} has two layers named ${quote(name)}`);
    known.add(name);
  }
}

/** Reads references: a single one, a list, or a tree. */
function readRefs(settings: Settings, option: string): readonly TensorRef[] {
  const inside = (value: unknown): readonly TensorRef[] => {
    const ref = parseRef(value);
    if (ref !== undefined) return [ref];
    if (Array.isArray(value)) return value.flatMap(inside);
    return isObject(value) ? Object.values(value).flatMap(inside) : [];
  };
  const refs = inside(settings.config[option]);
  if (refs.length === 0) refuseFile(`${settings.className} ${quote(settings.name)} has no ${option}`);
  return refs;
}

/**
 * Makes the function from a reference to the id of its call. Files may count the calls of an inner model from 1,
 * because its construction counts as the first; a reference then exceeds the number of listed calls.
 */
function callResolver(
  calls: ReadonlyMap<string, LayerCall>,
  outputs: readonly TensorRef[],
): (ref: TensorRef) => string {
  const all = [...[...calls.values()].flatMap(({ inputs }) => inputs), ...outputs];
  const beyond = new Set(
    all
      .filter(
        (ref) => ref.node > 0 && !calls.has(callId(ref)) && calls.has(callId({ ...ref, node: ref.node - 1 })),
      )
      .map(({ layer }) => layer),
  );
  return (ref) => callId(beyond.has(ref.layer) ? { ...ref, node: ref.node - 1 } : ref);
}

/** Sorts the calls that outputs need. @throws MP_PARSE for a tensor that nothing computes, or that needs itself */
function inOrder(
  calls: ReadonlyMap<string, LayerCall>,
  inputLayers: ReadonlyMap<string, ModelInput>,
  outputs: readonly TensorRef[],
  resolve: (ref: TensorRef) => string,
): readonly string[] {
  const order = new Set<string>();
  const open = new Set<string>();
  // Not recursive: a file may have any number of layers in a row.
  const stack = outputs.map((ref) => ({ ref, isDone: false }));
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    const id = resolve(entry.ref);
    if (entry.isDone) {
      open.delete(id);
      order.add(id);
      continue;
    }
    if (order.has(id) || inputLayers.has(entry.ref.layer)) continue;
    if (open.has(id)) refuseFile(`the layer ${quote(entry.ref.layer)} needs its own output`);
    const call = calls.get(id);
    if (call === undefined)
      return refuseFile(`the layer ${quote(entry.ref.layer)} has no call ${entry.ref.node}`);
    open.add(id);
    stack.push({ ref: entry.ref, isDone: true }, ...call.inputs.map((ref) => ({ ref, isDone: false })));
  }
  return [...order];
}

/** Names outputs by their layers, numbered if a layer has several. */
function outputNames(outputs: readonly TensorRef[]): readonly string[] {
  const seen = new Map<string, number>();
  return outputs.map(({ layer }) => {
    const count = seen.get(layer) ?? 0;
    seen.set(layer, count + 1);
    return count === 0 ? layer : `${layer}_${count}`;
  });
}
