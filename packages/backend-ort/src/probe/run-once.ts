import type { HostTensor } from "@mp/core";
import type { Graph, ValueType } from "@mp/core/graph";
import { lowerGraph } from "../lower.js";
import type { NativeRuntime, NativeTensor } from "../native/index.js";
import type { Target } from "../target.js";

export type Tensors = Readonly<Record<string, HostTensor>>;

/** Lowers a graph as it will be, loads it, runs it once and returns its outputs. */
export async function runGraph(
  runtime: NativeRuntime,
  graph: Graph,
  target: Target,
  feeds: Tensors = {},
): Promise<Tensors> {
  const { model, inputName, outputName, constants } = lowerGraph(graph, target);
  const inputs = new Map(Object.entries(feeds).map(([name, value]) => [inputName(name), value]));
  for (const { name, value } of constants) inputs.set(name, value);
  const outputs = new Map(graph.outputs.map(({ name, value }) => [outputName(name), value]));
  const results = await runOnce(runtime, model, { inputs, outputs });
  return Object.fromEntries(
    graph.outputs.map(({ name }) => [name, results.get(outputName(name)) as HostTensor]),
  );
}

interface RunOnce {
  /** By the model's names; none unless given. */
  readonly inputs?: ReadonlyMap<string, HostTensor>;
  readonly outputs: ReadonlyMap<string, ValueType>;
}

/** Loads a model, runs it once, entirely on the runtime's device, and returns its outputs. */
export async function runOnce(
  runtime: NativeRuntime,
  model: Uint8Array,
  { inputs = new Map(), outputs }: RunOnce,
): Promise<ReadonlyMap<string, HostTensor>> {
  // Otherwise ops that the device lacks would run on the CPU and seem to be supported.
  const config = runtime.device === "cuda" ? { "session.disable_cpu_ep_fallback": "1" } : undefined;
  const session = await runtime.createSession(model, config === undefined ? {} : { config });
  const held: NativeTensor[] = [];
  const hold = (tensor: NativeTensor): NativeTensor => {
    held.push(tensor);
    return tensor;
  };
  try {
    const binding = runtime.bind(session);
    try {
      for (const [name, value] of inputs) binding.bindInput(name, hold(runtime.upload(value)));
      const results = [...outputs].map(([name, type]) => [name, hold(runtime.allocate(type))] as const);
      for (const [name, buffer] of results) binding.bindOutput(name, buffer);
      binding.runSync();
      return new Map(results.map(([name, buffer]) => [name, buffer.read()]));
    } finally {
      binding.release();
    }
  } finally {
    for (const tensor of held) tensor.release();
    session.release();
  }
}
