/**
 * The columns of a Parquet file, and how their decoded values are read. The decoder makes objects by names,
 * and loses or confuses `__proto__`, `a.b` and names that are there twice. So this file gives it other names,
 * and only the annotations that it reads exactly.
 */
import type { FileMetaData, SchemaElement, SchemaTree } from "hyparquet";
import type { RowPlace } from "../row-place.js";
import { exactWhole, type KeepsBig, refuseBig } from "./big-integers.js";
import { Unread } from "./parquet-pages.js";

/** Converts a decoded value that is not null. */
type Read = (value: unknown, place: RowPlace) => unknown;

interface Part {
  readonly name: string;
  /** The element of the schema, renamed for the decoder. */
  readonly element: SchemaElement;
  readonly read: Read;
}

export interface Column extends Part {
  readonly leaves: readonly Leaf[];
}

export interface Leaf {
  readonly name: string;
  /** The index of its chunk in a row group. */
  readonly index: number;
  /** The largest definition level; `repetition` is the largest repetition level. */
  readonly definition: number;
  readonly repetition: number;
  /** The number of bytes of a value, if all have the same. */
  readonly width: number;
}

/** Surroundings of a part of a column; `leaves` are those found so far. */
interface Outer extends Pick<Leaf, "definition" | "repetition"> {
  readonly keepsBig: boolean;
  readonly leaves: Leaf[];
}

/**
 * The decoder's names of annotations. It reads those of timestamps, integers, UUIDs and f16 without this
 * table. Values with other annotations are converted in this file, or stay as they are stored.
 */
const READ_AS: Readonly<Record<string, SchemaElement["converted_type"]>> = {
  ...{ STRING: "UTF8", UTF8: "UTF8", ENUM: "UTF8", JSON: "UTF8" },
  ...{ LIST: "LIST", MAP: "LIST", MAP_KEY_VALUE: "LIST", DATE: "DATE" },
};
const READ_ITSELF = /^(TIMESTAMP|INTEGER|U?INT_|UUID|FLOAT16)/;

/** Lists the columns, and renames them in the metadata. @throws Error for columns that contradict each other */
export function readColumns(
  metadata: FileMetaData,
  parquetSchema: (metadata: FileMetaData) => SchemaTree,
  keepsBig: KeepsBig,
): readonly Column[] {
  const { children } = parquetSchema(metadata);
  const chunks = metadata.row_groups.map(({ columns }) => columns.map(({ meta_data: meta }) => meta));
  const paths = JSON.stringify(children.flatMap(leafPaths));
  for (const found of chunks)
    if (JSON.stringify(found.map((meta) => meta?.path_in_schema)) !== paths)
      throw new Error("a row group has other columns than the schema");
  const leaves: Leaf[] = [];
  const columns = children.map((child) => {
    const outer = { definition: 0, repetition: 0, keepsBig: keepsBig(child.element.name), leaves };
    const first = leaves.length;
    return { ...readPart(child, outer), leaves: leaves.slice(first) };
  });
  checkNames(columns);
  for (const [at, element] of metadata.schema.entries()) element.name = `c${at}`;
  const renamed = parquetSchema(metadata).children.flatMap(leafPaths);
  for (const found of chunks)
    for (const [at, meta] of found.entries()) if (meta) meta.path_in_schema = renamed[at] ?? [];
  return columns;
}

const leafPaths = ({ children, path }: SchemaTree): string[][] =>
  children.length === 0 ? [path] : children.flatMap(leafPaths);

/** Reads the columns of a row, or the fields of an object. */
export const readFields = (
  parts: readonly Part[],
  fields: unknown,
  place: RowPlace,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(parts.map((part) => [part.name, readValue(part, fieldOf(part, fields), place)]));

const fieldOf = ({ element }: Part, fields: unknown): unknown =>
  (fields as Readonly<Record<string, unknown>>)[element.name];

function readValue({ name, read }: Part, value: unknown, place: RowPlace): unknown {
  if (value === undefined) throw new Error(`column ${JSON.stringify(name)} has no value`);
  return value === null ? null : read(value, place);
}

/** Reads a list, which the decoder may give as a typed array. */
const readEach =
  (item: Part): Read =>
  (list, place) =>
    Array.from(list as ArrayLike<unknown>, (value) => readValue(item, value, place));

function readPart(tree: SchemaTree, outer: Outer): Part {
  const { element, children } = tree;
  const { name, repetition_type: kind } = element;
  const definition = outer.definition + Number(kind !== "REQUIRED");
  const repetition = outer.repetition + Number(kind === "REPEATED");
  const inner = { ...outer, definition, repetition };
  const part = {
    name,
    element,
    read: children.length === 0 ? readLeaf(tree, inner) : readGroup(tree, inner),
  };
  return kind === "REPEATED" ? { ...part, read: readEach(part) } : part;
}

/** Returns an element's newer or older annotation, and removes it unless the decoder reads it. */
function takeAnnotation(element: SchemaElement): string {
  const found = element.logical_type?.type ?? element.converted_type ?? "";
  if (READ_ITSELF.test(found)) return found;
  delete element.logical_type;
  delete element.converted_type;
  return found;
}

/** Reads an object or a list; a map is a list of objects with a key and a value. */
function readGroup({ element, children }: SchemaTree, inner: Outer): Read {
  const isList = READ_AS[takeAnnotation(element)] === "LIST";
  const [list, ...rest] = children as [SchemaTree, ...SchemaTree[]];
  if (!isList || rest.length > 0 || list.element.repetition_type !== "REPEATED") {
    const parts = children.map((child) => readPart(child, inner));
    checkNames(parts);
    return (value, place) => readFields(parts, value, place);
  }
  const [item, ...others] = list.children;
  // The item is the repeated part: an object of several fields, or of one in files of old writers.
  if (item && (others.length > 0 || /^array$|_tuple$/.test(list.element.name))) {
    const part = readPart(list, inner);
    return (value, place) => readValue(part, fieldOf(part, value), place);
  }
  element.converted_type = "LIST";
  if (item === undefined) return readPart(list, inner).read;
  const { definition, repetition } = inner;
  return readEach(readPart(item, { ...inner, definition: definition + 1, repetition: repetition + 1 }));
}

function checkNames(parts: readonly Part[]): void {
  const names = parts.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new Unread(`it names ${JSON.stringify(twice)} twice`, "name each column and each field once");
}

function readLeaf({ element, path }: SchemaTree, { leaves, keepsBig, definition, repetition }: Outer): Read {
  const { logical_type: logical, type_length: width = 0 } = element;
  const name = path.join(".");
  leaves.push({ name, index: leaves.length, definition, repetition, width });
  const kind = takeAnnotation(element);
  const as = READ_AS[kind];
  if (as !== undefined && as !== "LIST") element.converted_type = as;
  const scale = kind !== "DECIMAL" ? 0 : logical?.type === "DECIMAL" ? logical.scale : (element.scale ?? 0);
  const unit = logical?.type === "TIME" ? logical.unit : kind.replace("TIME_", "");
  if (/^TIME(_|$)/.test(kind))
    return (value) => timeOfDay(BigInt(value as bigint) * (NANOSECONDS[unit] ?? 1n));
  return (value, place) => {
    if (typeof value !== "bigint" && kind !== "DECIMAL") return value;
    const digits = ArrayBuffer.isView(value) ? fromBytes(value as Uint8Array) : BigInt(value as bigint);
    if (scale === 0) return exactWhole(digits, name, keepsBig, place);
    if (Number.isSafeInteger(Number(digits))) return Number(`${digits}e${-scale}`);
    throw refuseBig(place, name, `${digits}e${-scale}`);
  };
}

/** Reads a whole number of two's complement, the highest byte first. */
const fromBytes = (bytes: Uint8Array): bigint =>
  BigInt.asIntN(8 * bytes.length, BigInt(`0x0${Buffer.from(bytes).toString("hex")}`));

const NANOSECONDS: Readonly<Record<string, bigint>> = { MILLIS: 1_000_000n, MICROS: 1000n };

/** Formats a time of day as Python does: `09:30:00`, `09:30:00.000001`. */
function timeOfDay(nanoseconds: bigint): string {
  if (nanoseconds < 0n || nanoseconds >= 86_400_000_000_000n) throw new Error("a time is not within a day");
  const seconds = new Date(Number(nanoseconds / 1_000_000n)).toISOString().slice(11, 19);
  const fraction = String((nanoseconds % 1_000_000_000n) + 1_000_000_000n).slice(1);
  return seconds + `.${fraction}`.replace(/\.0{9}$|000$/, "");
}
