import type { MessageInitShape } from "@bufbuild/protobuf";
import type { NodeDefSchema } from "../proto/saved_model_pb.js";
import type { TfAttributes } from "./attributes.js";

/** A node of a GraphDef. */
export type NodeInit = MessageInitShape<typeof NodeDefSchema> & {
  readonly name: string;
  readonly op: string;
  readonly input: string[];
};

export function nodeInit(
  op: string,
  name: string,
  input: readonly string[],
  attributes: TfAttributes,
): NodeInit {
  const attr = Object.entries(attributes).map(([key, value]) => [key, { value }] as const);
  return { name, op, input: [...input], attr: Object.fromEntries(attr) };
}
