import type { HostTensor } from "@mp/core";
import { HandleTable, resolveBindings } from "@mp/core/backend";
import type { AnyNode, Graph } from "@mp/core/graph";
import { takeInputs } from "../feeds.js";
import { lowerProgram } from "../graph/program.js";
import type { TfjsBinding } from "../load/index.js";
import { ProgramSet } from "../session/program-set.js";
import { emptyTensor, WireTensor } from "../session/wire-tensor.js";
import type { Uploaded } from "../uploaded.js";

/** Loads a graph without state, runs it once and returns its outputs. */
export async function runGraph(
  binding: TfjsBinding,
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor>>,
  isWidened: (node: AnyNode) => boolean,
): Promise<Readonly<Record<string, HostTensor>>> {
  const bound = resolveBindings(graph, undefined, {});
  const programs = new ProgramSet(binding);
  const handleOf = (slot: string): string => programs.handleOf(slot);
  const program = lowerProgram(graph, { scope: programs.nextScope(), bound, handleOf, isWidened });
  programs.add(program);
  const noHandles = new HandleTable<Uploaded>("tfjs", () => undefined);
  const feed = takeInputs(inputs, program.inputs, bound.reads, noHandles, binding);
  try {
    const ids = (await programs.run(program, feed.ids)).values();
    const read = program.results.map(({ name, type, node }) => {
      if (node === undefined) return [name, emptyTensor(type)] as const;
      const wire = new WireTensor(binding, type, ids.next().value as number);
      const value = wire.read();
      wire.release();
      return [name, value] as const;
    });
    return Object.fromEntries(read);
  } finally {
    feed.release();
    programs.dispose();
  }
}
