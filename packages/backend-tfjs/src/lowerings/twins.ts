/** Nodes that are computed in another dtype: the same node with other types, on converted operands. */
import type { DType } from "@mp/core";
import { type GraphNode, isHalf, type Op } from "@mp/core/graph";
import type { Lowering, TfWriter } from "../graph/tf-writer.js";
import { isZero, noteZero } from "./zeros.js";

type Convert = (name: string, from: DType, to: DType, writer: TfWriter) => string;

function inOther<K extends Op>(
  lowering: Lowering<K>,
  other: (dtype: DType) => DType,
  convert: Convert,
): Lowering<K> {
  return (node, operands, writer) => {
    const types = [...node.inputs, ...node.outputs];
    if (types.every(({ dtype }) => other(dtype) === dtype)) return lowering(node, operands, writer);
    const converted = <V extends { readonly dtype: DType }>(value: V): V => ({
      ...value,
      dtype: other(value.dtype),
    });
    const inOtherType: GraphNode<K> = {
      ...node,
      inputs: node.inputs.map(converted),
      outputs: node.outputs.map(converted),
    };
    const given = operands.map((name, index) => {
      const dtype = node.inputs[index]?.dtype;
      return dtype === undefined || other(dtype) === dtype
        ? name
        : convert(name, dtype, other(dtype), writer);
    });
    return lowering(inOtherType, given, writer).map((name, index) => {
      const dtype = node.outputs[index]?.dtype;
      return dtype === undefined || other(dtype) === dtype
        ? name
        : convert(name, other(dtype), dtype, writer);
    });
  };
}

/** For lowerings with several nodes: halves are converted to f32 and results are rounded once. */
export function inF32<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return inOther(
    lowering,
    (dtype) => (isHalf(dtype) ? "f32" : dtype),
    (name, from, to, writer) => {
      const converted = writer.cast(name, from, to);
      if (isZero(name, writer)) noteZero(converted, writer);
      return converted;
    },
  );
}

const isEighth = (dtype: DType): boolean => dtype === "f8e4m3" || dtype === "f8e5m2";

/** The engine has few ops that move 8-bit floats; f16 holds all their values. */
export function throughF16<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return inOther(
    lowering,
    (dtype) => (isEighth(dtype) ? "f16" : dtype),
    (name, from, to, writer) => writer.cast(name, from, to),
  );
}
