import { type HostTensor, isHostTensor } from "../src/host/host-tensor.js";
import { evaluate } from "../src/reference/evaluate.js";
import type { TensorTree } from "../src/trace/map-tensors.js";
import { isTensor, type Tensor } from "../src/trace/tensor.js";
import { traceInto } from "../src/trace/trace.js";

import { leavesOf, type MapLeaves, mapTree, rebuildTree, type Tree } from "../src/tree.js";

/** Traces a function of trees over the given data and runs it on the oracle, once, in exact arithmetic. */
export function runTraced<T, R>(
  data: T,
  body: (inputs: MapLeaves<T, HostTensor, Tensor>) => R,
): MapLeaves<R, Tensor, HostTensor> {
  const run = runTrees(
    data as Tree<HostTensor>,
    (inputs) => body(inputs as MapLeaves<T, HostTensor, Tensor>) as TensorTree,
  );
  return run as MapLeaves<R, Tensor, HostTensor>;
}

type Data = Tree<HostTensor>;

/** `runTraced` of trees whose structure the types do not say. */
export function runTrees(data: Data, body: (inputs: TensorTree) => TensorTree): Data {
  return traceTrees(data, body)(data);
}

/** Traces once, for data of the example's types. */
export function traceTrees(example: Data, body: (inputs: TensorTree) => TensorTree): (data: Data) => Data {
  const inputs = Object.entries(named(example)).map(([name, type]) => ({
    name,
    role: "batch" as const,
    type,
  }));
  const { graph, result } = traceInto(inputs, (tensors) =>
    body(rebuildTree<unknown, HostTensor, Tensor>(example, isHostTensor, tensors) as TensorTree),
  );
  return (data) => {
    const outputs = evaluate(graph, named(data));
    const leaf = (_: Tensor, path: string): unknown => outputs[path === "" ? "result" : path];
    return mapTree<unknown, Tensor, unknown>(result, isTensor, leaf) as Data;
  };
}

function named(data: Data): Readonly<Record<string, HostTensor>> {
  return Object.fromEntries(leavesOf(data, isHostTensor, "data").map(([path, leaf]) => [`in/${path}`, leaf]));
}
