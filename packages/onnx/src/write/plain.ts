import type { GraphNode, Op, OpAttributes } from "@mp/graph";
import { float, int, ints, type OnnxAttribute, type OnnxAttributes, string } from "../model.js";
import type { Lowering } from "./lowering.js";

/** Attributes that are floats; all others are integers. */
const FLOATS: ReadonlySet<string> = new Set(["alpha", "beta", "epsilon", "scale", "softcap"]);
/** Attributes that both ONNX and the graph spell with capitals. */
const CAPITALS: ReadonlySet<string> = new Set(["transA", "transB"]);

const onnxName = (name: string): string =>
  CAPITALS.has(name) ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function onnxAttribute(name: string, value: unknown): OnnxAttribute {
  if (typeof value === "string") return string(value);
  if (Array.isArray(value)) return ints(value);
  return FLOATS.has(name) ? float(Number(value)) : int(Number(value));
}

/** The named attributes of a node under ONNX's names, in this order; undefined attributes are left out. */
export function onnxAttributes<A extends object>(
  { attributes }: { readonly attributes: A },
  ...names: readonly (keyof A & string)[]
): OnnxAttributes {
  const given = names.map((name) => [name, attributes[name] as unknown] as const);
  const written = given.filter(([, value]) => value !== undefined);
  return Object.fromEntries(written.map(([name, value]) => [onnxName(name), onnxAttribute(name, value)]));
}

/** Lowers a node to the ONNX op of the same name, with these attributes and `others`, which graphs lack. */
export const plain =
  <K extends Op>(
    names: readonly (keyof OpAttributes[K] & string)[] = [],
    others: (node: GraphNode<K>) => OnnxAttributes = () => ({}),
  ): Lowering<K> =>
  (node, operands, writer) => {
    const attributes = { ...onnxAttributes(node, ...names), ...others(node) };
    return writer.emit(node.op, operands, attributes, { outputs: node.outputs.length });
  };
