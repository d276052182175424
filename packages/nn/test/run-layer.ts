import {
  type HostTensor,
  isHostTensor,
  isTensor,
  leavesOf,
  mapTree,
  rebuildTree,
  type Tensor,
  type TensorTree,
  type Traced,
  type Tree,
} from "@mp/core";
import { traceInto } from "@mp/core/graph";
import { evaluateRaw, type RawTensor } from "@mp/core/reference";

export interface RunOptions {
  /** `f64` (default) computes in doubles; `exact` as an engine does. */
  readonly arithmetic?: "f64" | "exact";
  /** Iteration for everything random. */
  readonly counter?: bigint;
}

/** Traces a function of trees over the data and runs it on the oracle. */
export function run<T>(
  data: T,
  body: (inputs: Traced<T>) => unknown,
  options: RunOptions = {},
): Tree<RawTensor> {
  const leaves = leavesOf(data, isHostTensor, "data").map(([path, leaf]) => [`in/${path}`, leaf] as const);
  const inputs = leaves.map(([name, type]) => ({ name, role: "batch" as const, type }));
  const { graph, result } = traceInto(
    inputs,
    (tensors) => body(rebuildTree(data, isHostTensor, tensors) as Traced<T>) as TensorTree,
  );
  const outputs = evaluateRaw(graph, Object.fromEntries(leaves), {
    arithmetic: options.arithmetic ?? "f64",
  });
  return mapTree<unknown, Tensor, unknown>(
    result,
    isTensor,
    (_, path) => outputs[path === "" ? "result" : path],
  ) as Tree<RawTensor>;
}

/** The numbers of one tensor of a result. */
export function numbers(result: Tree<RawTensor> | undefined): readonly number[] {
  return Array.from((result as RawTensor | undefined)?.data as Iterable<number | bigint>, Number);
}

export function shapeOf(result: Tree<RawTensor> | Tree<HostTensor> | undefined): readonly number[] {
  return (result as RawTensor).shape;
}
