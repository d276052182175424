// The inputs of each call of a layer in a functional model, in the formats of Keras 2, tfjs and Keras 3.
import { isObject, type JsonObject } from "../problem.js";
import type { Settings } from "../settings.js";

/** Refers to one output of one call of a layer. */
export interface TensorRef {
  readonly layer: string;
  /** Index of the call, as the file counts. */
  readonly node: number;
  readonly output: number;
}

export function parseRef(value: unknown): TensorRef | undefined {
  if (!Array.isArray(value)) return undefined;
  const [layer, node = 0, output = 0] = value as readonly unknown[];
  const isRef = typeof layer === "string" && Number.isInteger(node) && Number.isInteger(output);
  return isRef ? { layer, node: node as number, output: output as number } : undefined;
}

/** Reads the inputs of each call of a layer. @throws MP_UNSUPPORTED for calls with arguments that are not tensors */
export function readCalls(settings: Settings, inboundNodes: unknown): readonly (readonly TensorRef[])[] {
  if (!Array.isArray(inboundNodes)) return [];
  return inboundNodes.map((node: unknown) =>
    isObject(node) ? kerasThree(settings, node) : kerasTwo(settings, node),
  );
}

/** Reads [["layer", 0, 0, {}], …], or a single entry. */
function kerasTwo(settings: Settings, node: unknown): readonly TensorRef[] {
  const entries = parseRef(node) === undefined ? node : [node];
  if (!Array.isArray(entries)) return settings.refuse("its inbound_nodes are not read");
  return entries.flatMap((entry: unknown) => {
    const ref = parseRef(entry);
    if (ref === undefined) return settings.refuse("its inbound_nodes are not read");
    const [, , , options] = entry as readonly unknown[];
    return [ref, ...readStates(settings, isObject(options) ? options : {})];
  });
}

/** Reads { args: [a tensor or a list of tensors], kwargs }. */
function kerasThree(settings: Settings, { args, kwargs }: JsonObject): readonly TensorRef[] {
  const [first, ...rest] = Array.isArray(args) ? (args as readonly unknown[]) : [];
  const inputs = tensorsIn(first);
  const states = rest.flatMap((value) => (value === null ? [] : tensorsIn(value)));
  if (inputs.length === 0) return settings.refuse("a call without tensors is not read");
  return [...inputs, ...states, ...readStates(settings, isObject(kwargs) ? kwargs : {})];
}

/** Reads the initial states from the options of a call; other options must have their defaults. */
function readStates(settings: Settings, options: JsonObject): readonly TensorRef[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (name === "initial_state") return value === null ? [] : tensorsIn(value);
    if (value === null || name === "training" || value === false) return [];
    return settings.refuse(`the argument ${name} of its call is not read`);
  });
}

function tensorsIn(value: unknown): readonly TensorRef[] {
  const ref = parseRef(value);
  if (ref !== undefined) return [ref];
  if (Array.isArray(value)) return value.flatMap(tensorsIn);
  if (!isObject(value)) return [];
  const { config } = value;
  const history = isObject(config) ? parseRef(config["keras_history"]) : undefined;
  return history === undefined ? [] : [history];
}
