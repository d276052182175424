/**
 * Checks that a value has the structure of `OnnxModel`. Models are plain data that users make and change;
 * readers and writers rely on this check.
 */
import { isHostTensor, MpError, tensor as makeTensor } from "@mp/graph";
import { arrayClassOf } from "@mp/graph/internal";
import { isElementType } from "./element-type.js";
import type { OnnxAttributeKind, OnnxGraph, OnnxModel, OnnxNode } from "./model.js";

/** Throws unless the value has the expected form. `place` is its path in the model, for the message. */
type Check = (value: unknown, place: string) => void;

class Mismatch extends Error {}

const claim = (what: string, test: (value: unknown) => boolean): Check => {
  return (value, place) => {
    if (!test(value)) throw new Mismatch(`${place} must be ${what}, got ${describe(value)}`);
  };
};

function isTensor(value: unknown): boolean {
  if (!isHostTensor(value)) return false;
  try {
    makeTensor(value.data as Uint8Array, value.shape, value.dtype as "u8");
    return true;
  } catch {
    return false;
  }
}

const describe = (value: unknown): string =>
  value === null ? "null" : (arrayClassOf(value) ?? (Array.isArray(value) ? "an array" : typeof value));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);

const text = claim("a string", (value) => typeof value === "string");
const number = claim("a number", (value) => typeof value === "number");
const size = claim("a size or its name", (value) => typeof value === "number" || typeof value === "string");
const integer = claim("a bigint", (value) => typeof value === "bigint");
const tensor = claim("a tensor with a shape of its elements", isTensor);
const array = claim("an array", Array.isArray);
const record = claim("an object", isRecord);

const optional =
  (check: Check): Check =>
  (value, place) => {
    if (value !== undefined) check(value, place);
  };

const list =
  (check: Check): Check =>
  (value, place) => {
    array(value, place);
    // forEach would skip holes of sparse arrays.
    for (const [index, each] of [...(value as readonly unknown[])].entries())
      check(each, `${place}[${index}]`);
  };

const dictionary =
  (check: Check): Check =>
  (value, place) => {
    record(value, place);
    for (const [key, each] of Object.entries(value as object))
      check(each, `${place}[${JSON.stringify(key)}]`);
  };

const fields =
  <T>(checks: Readonly<Record<keyof T & string, Check>>): Check =>
  (value, place) => {
    record(value, place);
    const own = value as Readonly<Record<string, unknown>>;
    for (const [name, check] of Object.entries<Check>(checks)) check(own[name], `${place}.${name}`);
  };

const elementType = claim("an element type", (value) => typeof value === "string" && isElementType(value));
const metadata = dictionary(text);
const valueInfo = fields({
  name: text,
  type: optional(fields({ elementType, shape: optional(list(size)) })),
  metadata,
});

const ATTRIBUTES: Readonly<Record<OnnxAttributeKind | "reference", Check>> = {
  float: number,
  int: integer,
  string: text,
  tensor,
  graph: (value, place) => graph(value, place),
  floats: list(number),
  ints: list(integer),
  strings: list(text),
  tensors: list(tensor),
  graphs: list((value, place) => graph(value, place)),
  reference: text,
};
const KINDS = Object.keys(ATTRIBUTES);

const attribute: Check = (value, place) => {
  record(value, place);
  const { kind, value: given } = value as { readonly kind?: unknown; readonly value?: unknown };
  claim(`one of ${KINDS.join(", ")}`, (one) => KINDS.includes(one as string))(kind, `${place}.kind`);
  ATTRIBUTES[kind as OnnxAttributeKind](given, `${place}.value`);
};

const node = fields<Required<OnnxNode>>({
  opType: text,
  domain: text,
  name: text,
  inputs: list(text),
  outputs: list(text),
  attributes: dictionary(attribute),
  metadata,
  overload: optional(text),
});

const graph = fields<OnnxGraph>({
  name: text,
  inputs: list(valueInfo),
  outputs: list(valueInfo),
  initializers: list(fields({ name: text, tensor, elementType: optional(elementType) })),
  nodes: list(node),
  valueInfos: list(valueInfo),
  metadata,
});

const model = fields<OnnxModel>({
  irVersion: number,
  opsets: dictionary(number),
  producerName: text,
  producerVersion: text,
  graph,
  functions: list(
    fields({
      domain: text,
      name: text,
      overload: optional(text),
      inputs: list(text),
      outputs: list(text),
      attributes: list(text),
      defaults: dictionary(attribute),
      opsets: dictionary(number),
      nodes: list(node),
      metadata,
    }),
  ),
  metadata,
});

/** Checks the structure of a model. @throws MP_INVALID_ARGUMENT naming the wrong field and its value */
export function expectModel(what: string, given: unknown): asserts given is OnnxModel {
  const { graph, opsets } = (given ?? {}) as Partial<OnnxModel>;
  if (graph === undefined || opsets === undefined)
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `${what}: takes a model, got ${arrayClassOf(given) ?? typeof given}; decodeModel(bytes) makes one`,
    );
  try {
    model(given, "model");
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new MpError("MP_INVALID_ARGUMENT", `${what}: ${error.message}`);
  }
}
