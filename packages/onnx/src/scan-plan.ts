// The plans of all messages for the scan, taken from the generated descriptors. So the schema is written down once, and
// the scan agrees with the reader about what is a submessage.
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { ModelProtoSchema, NodeProtoSchema, TensorProtoSchema } from "./proto/onnx_pb.js";

/** The wire format of a field's payload. */
export type FieldForm = "varint" | "fixed32" | "fixed64" | "bytes" | "string" | "message";

export interface FieldPlan {
  readonly name: string;
  readonly form: FieldForm;
  readonly repeated: boolean;
  /** The plan of the nested message, if `form` is `message`. */
  readonly message?: MessagePlan;
}

/** Messages that have a limit of their own. */
export type Counted = "node" | "tensor" | undefined;

export interface MessagePlan {
  readonly name: string;
  readonly counted: Counted;
  /** The plan of each field, at the index of its field number; these numbers are small. */
  readonly fields: readonly (FieldPlan | undefined)[];
}

const formOfScalar: Readonly<Record<ScalarType, FieldForm>> = {
  [ScalarType.DOUBLE]: "fixed64",
  [ScalarType.FLOAT]: "fixed32",
  [ScalarType.INT64]: "varint",
  [ScalarType.UINT64]: "varint",
  [ScalarType.INT32]: "varint",
  [ScalarType.FIXED64]: "fixed64",
  [ScalarType.FIXED32]: "fixed32",
  [ScalarType.BOOL]: "varint",
  [ScalarType.STRING]: "string",
  [ScalarType.BYTES]: "bytes",
  [ScalarType.UINT32]: "varint",
  [ScalarType.SFIXED32]: "fixed32",
  [ScalarType.SFIXED64]: "fixed64",
  [ScalarType.SINT32]: "varint",
  [ScalarType.SINT64]: "varint",
};

const countedAs: ReadonlyMap<DescMessage, Counted> = new Map<DescMessage, Counted>([
  [NodeProtoSchema, "node"],
  [TensorProtoSchema, "tensor"],
]);

function wireForm(field: DescField): FieldForm {
  if (field.message !== undefined) return "message";
  return field.scalar === undefined ? "varint" : formOfScalar[field.scalar];
}

function messagePlan(schema: DescMessage, known: Map<DescMessage, MessagePlan>): MessagePlan {
  const existing = known.get(schema);
  if (existing !== undefined) return existing;
  const fields: (FieldPlan | undefined)[] = [];
  const plan: MessagePlan = { name: schema.name, counted: countedAs.get(schema), fields };
  // Registers the plan before its fields are known, since graphs hold nodes, which hold graphs.
  known.set(schema, plan);
  for (const field of schema.fields) {
    fields[field.number] = {
      name: field.name,
      form: wireForm(field),
      repeated: field.fieldKind === "list",
      ...(field.message === undefined ? {} : { message: messagePlan(field.message, known) }),
    };
  }
  return plan;
}

const plans = new Map<DescMessage, MessagePlan>();

/** The plan of a whole model. */
export const modelPlan: MessagePlan = messagePlan(ModelProtoSchema, plans);
