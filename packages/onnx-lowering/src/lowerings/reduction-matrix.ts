import type { GraphNode } from "@mp/graph";
import { int, ints, type NodeWriter } from "@mp/onnx/write";
import { operandType } from "./own-lowering.js";

type Reduction = "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin";

/** A reduction's operand as a matrix: all reduced axes are merged into one. */
export interface ReductionMatrix {
  /** Number of elements reduced to one result. */
  readonly size: number;
  /** @param place whether the reduced axis of the matrix comes first, [size, rows], or last, [rows, size] */
  matrix(x: string, place: "first" | "last"): string;
  /** Reshapes [rows] to the shape of the node's result. */
  result(x: string): string;
}

export function reductionMatrix(node: GraphNode<Reduction>, writer: NodeWriter): ReductionMatrix {
  const { shape } = operandType(node);
  const { axes } = node.attributes;
  const kept = shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));
  const count = (some: readonly number[]): number =>
    some.reduce((product, axis) => product * (shape[axis] ?? 1), 1);
  const [size, rows] = [count(axes), count(kept)];
  const reshape = (x: string, to: readonly number[]): string =>
    writer.one("Reshape", [x, writer.ints(to)], { allowzero: int(1) });
  return {
    size,

    matrix: (x, place) => {
      const perm = place === "first" ? [...axes, ...kept] : [...kept, ...axes];
      const moved = writer.one("Transpose", [x], { perm: ints(perm) });
      return reshape(moved, place === "first" ? [size, rows] : [rows, size]);
    },
    result: (x) => reshape(x, node.outputs[0]?.shape ?? []),
  };
}
