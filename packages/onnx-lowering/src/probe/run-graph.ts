import type { Graph, HostTensor } from "@mp/graph";
import { lowerGraph } from "../lower.js";
import type { Target } from "../lowerings/target.js";
import { storageOf } from "../storage.js";
import type { ProbedEngine } from "./engine.js";

export type Tensors = Readonly<Record<string, HostTensor>>;

/** Lowers a graph, runs it once and returns its outputs. */
export async function runGraph(
  engine: ProbedEngine,
  graph: Graph,
  target: Target,
  feeds: Tensors = {},
): Promise<Tensors> {
  const { model, inputName, outputName, isRead, constants } = lowerGraph(graph, target);
  const { storedType, stored, read } = storageOf(target);
  const fed = Object.entries(feeds).filter(([name]) => isRead(name));
  const inputs = new Map(fed.map(([name, value]) => [inputName(name), stored(value)]));
  for (const { name, value } of constants) inputs.set(name, value);
  const outputs = new Map(graph.outputs.map(({ name, value }) => [outputName(name), storedType(value)]));
  const results = await engine.runModel(model, inputs, outputs);
  return Object.fromEntries(
    graph.outputs.map(({ name, value }) => [name, read(results.get(outputName(name)) as HostTensor, value)]),
  );
}
