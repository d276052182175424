/**
 * Reads Thrift's compact protocol as far as Parquet's headers use it: structs of numbers; everything else is skipped.
 * A list that claims more elements than bytes follow is refused before anything is allocated for it.
 */

/** Numbers, booleans and structs by field number; lists, texts and doubles are not kept. */
export interface ThriftStruct {
  readonly [field: number]: number | boolean | ThriftStruct | undefined;
}

/** Deepest nesting of structs; no header is that deep. */
const DEEPEST = 24;
/** The protocol's field types. */
const [TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12,
];

/** @throws Error for bytes that are not a valid struct */
export function readStruct(
  bytes: Uint8Array,
  start: number,
): { readonly struct: ThriftStruct; readonly end: number } {
  let at = start;
  const byte = (): number => {
    const value = bytes[at++];
    if (value === undefined) throw new Error("a header ends too soon");
    return value;
  };
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = byte();
      value += (next & 127) * scale;
      if (next < 128) return value;
    }
  };
  const zigzag = (): number => {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  const skip = (length: number): undefined => {
    at += length;
    if (at > bytes.length) throw new Error(`a text of ${length} bytes is longer than its header`);
  };
  const list = (depth: number): undefined => {
    const head = byte();
    const size = head >> 4 === 15 ? varint() : head >> 4;
    if (size > bytes.length - at) throw new Error(`a list of ${size} elements is longer than its header`);
    for (let index = 0; index < size; index++) {
      const type = head & 15;
      if (type === TRUE || type === FALSE) byte();
      else element(type, depth);
    }
  };
  const element = (type: number, depth: number): number | boolean | ThriftStruct | undefined => {
    if (depth > DEEPEST) throw new Error("a header is nested too deep");
    if (type === TRUE || type === FALSE) return type === TRUE;
    if (type === BYTE) return byte();
    if (type === I16 || type === I32 || type === I64) return zigzag();
    if (type === DOUBLE) return skip(8);
    if (type === BINARY) return skip(varint());
    if (type === LIST || type === SET) return list(depth + 1);
    if (type === STRUCT) return struct(depth + 1);
    throw new Error(`a header has a field of unknown type ${type}`);
  };
  const struct = (depth: number): ThriftStruct => {
    const fields: Record<number, number | boolean | ThriftStruct | undefined> = {};
    let field = 0;
    for (let head = byte(); (head & 15) !== 0; head = byte()) {
      field = head >> 4 === 0 ? zigzag() : field + (head >> 4);
      fields[field] = element(head & 15, depth);
    }
    return fields;
  };
  return { struct: struct(0), end: at };
}
