import {
  type BackendManifest,
  formatType,
  type Graph,
  type HostTensor,
  isHostTensor,
  isTensor,
  leavesOf,
  MpError,
  mapTree,
  prepareGraph,
  rebuildTree,
  type StateBinding,
  Tensor,
  type TensorTree,
  type Tree,
  traceInto,
  type ValueType,
} from "@mp/graph";
import { currentBuilder, invalid, type Probes } from "@mp/graph/internal";
import { findSlotGroup, isValueType, slotGroupName } from "./state.js";

/** A graph and the bindings of its inputs and outputs to the state, as a backend compiles it. */
export interface Program {
  readonly graph: Graph;
  readonly bindings: readonly StateBinding[];
  /** Structure and types of the outputs that the host reads, by output name. */
  readonly outputs: Readonly<Record<string, TypeTree>>;
  /** The values that the output `poison` checks, element by element; only in a program that diagnoses another. */
  readonly probes?: Probes;
}

export type TypeTree = Tree<ValueType>;

export interface ProgramInputs {
  /** Types of the state, which stays on the engine; the trees in `fed`, by name, are fed at each run. */
  readonly state?: TypeTree;
  readonly fed?: Readonly<Record<string, TypeTree>>;
  /** The engine's manifest: composite operators that it supports are not expanded. Default: all are. */
  readonly manifest?: BackendManifest;
}

export interface ProgramResult {
  /** The next value of parts of the state. A tensor that is an unchanged input is not written. */
  readonly state?: TensorTree;
  /** The outputs that the host reads after the run. */
  readonly outputs: Readonly<Record<string, TensorTree>>;
}

/** The name of the graph input or output that carries a leaf of a tree. */
export const feedName = (tree: string, path: string): string => (path === "" ? tree : `${tree}/${path}`);

/** The types of a tree of host tensors. @param what names the tree in errors */
export const hostTypes = (tree: unknown, what?: string): TypeTree =>
  mapTree(
    tree,
    isHostTensor,
    ({ dtype, shape }): ValueType => ({ dtype, shape }),
    what,
  ) as unknown as TypeTree;

/** The leaves of a tree of host tensors, by the names of the graph inputs that they are fed to. */
export const feedTree = (tree: unknown, name: string): Readonly<Record<string, HostTensor>> =>
  Object.fromEntries(leavesOf(tree, isHostTensor, name).map(([path, leaf]) => [feedName(name, path), leaf]));

/** Names of the fed trees that hold samples; other fed trees are parts of the state or numbers. */
const SAMPLES: readonly string[] = ["batch", "data"];

/** Traces `body` over a state and over fed trees; cleans up and schedules the graph. */
export function traceProgram(
  inputs: ProgramInputs,
  body: (state: TensorTree, fed: Readonly<Record<string, TensorTree>>) => ProgramResult,
): Program {
  const stateLeaves = leavesOf(inputs.state ?? {}, isValueType, "state");
  const fedLeaves = Object.entries(inputs.fed ?? {}).map(
    ([name, tree]) => [name, tree, leavesOf(tree, isValueType, name)] as const,
  );
  const declared = [
    ...stateLeaves.map(([path, type]) => ({
      name: feedName("state", path),
      role: findSlotGroup(path).role,
      type,
    })),
    ...fedLeaves.flatMap(([name, , leaves]) =>
      leaves.map(([path, type]) => {
        const role = SAMPLES.includes(name) ? ("batch" as const) : ("state" as const);
        return { name: feedName(name, path), role, type };
      }),
    ),
  ];
  const bindings: StateBinding[] = [];
  const traced = traceInto(declared, (tensors) => {
    const builder = currentBuilder("program");
    const own = tensors.slice(0, stateLeaves.length);
    const state = rebuildTree<unknown, ValueType, Tensor>(inputs.state ?? {}, isValueType, own) as TensorTree;
    let at = stateLeaves.length;
    const fed: Record<string, TensorTree> = {};
    for (const [name, tree, leaves] of fedLeaves) {
      const part = tensors.slice(at, at + leaves.length);
      fed[name] = rebuildTree<unknown, ValueType, Tensor>(tree, isValueType, part) as TensorTree;
      at += leaves.length;
    }
    const { state: nextState, outputs } = body(state, fed);
    const nextLeaves = new Map(leavesOf(nextState ?? {}, isTensor, "next state"));
    checkNextState(new Map(stateLeaves), nextLeaves, new Set(Object.keys(nextState ?? {})));
    const next: Record<string, Tensor> = {};
    stateLeaves.forEach(([slot], index) => {
      const input = feedName("state", slot);
      const leaf = nextLeaves.get(slot);
      const before = Tensor.valueIn(own[index] as Tensor, builder, slot);
      if (leaf === undefined || Tensor.valueIn(leaf, builder, slot) === before) {
        bindings.push({ slot, input });
        return;
      }
      let name = slot.replaceAll("/", ".");
      // `a/b` and `a.b` are two slots.
      while (Object.hasOwn(next, name)) name += "'";
      next[name] = leaf;
      bindings.push({ slot, input, output: feedName("next", name), commit: findSlotGroup(slot).commit });
    });
    return { ...outputs, next };
  });
  const { next: _next, ...outputs } = traced.result;
  return { graph: prepareGraph(traced.graph, inputs.manifest), bindings, outputs: outputTypes(outputs) };
}

/** Checks that each part of the state is either left out or replaced whole, by values of the same types. */
function checkNextState(
  before: ReadonlyMap<string, ValueType>,
  after: ReadonlyMap<string, Tensor>,
  parts: ReadonlySet<string>,
): void {
  const wanted = "a state's update returns the structure, shapes and dtypes of its init";
  for (const [slot, type] of before) {
    const leaf = after.get(slot);
    if (leaf === undefined && parts.has(slotGroupName(slot))) {
      throw invalid(`next state: ${slot} is missing; ${wanted}`);
    }
    if (leaf === undefined || formatType(leaf) === formatType(type)) continue;
    throw new MpError(
      leaf.dtype === type.dtype ? "MP_SHAPE_MISMATCH" : "MP_DTYPE_MISMATCH",
      `next state: ${slot} is ${formatType(leaf)} instead of ${formatType(type)}; ${wanted}`,
    );
  }
  for (const slot of after.keys()) {
    if (before.has(slot)) continue;
    throw invalid(`next state: ${slot} is new; ${wanted}`);
  }
}

function outputTypes(outputs: unknown): Readonly<Record<string, TypeTree>> {
  const tensorType = ({ dtype, shape }: Tensor): ValueType => ({ dtype, shape });
  return mapTree<unknown, Tensor, ValueType>(outputs, isTensor, tensorType) as Readonly<
    Record<string, TypeTree>
  >;
}

/** Builds the host tree of one output from the leaves that a run names `name/…`. */
export function outputTree(
  types: unknown,
  name: string,
  values: Readonly<Record<string, HostTensor>>,
): unknown {
  return mapTree(types ?? {}, isValueType, (_type, path) => values[feedName(name, path)] as HostTensor);
}
