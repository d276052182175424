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
/** The protocol's types of booleans, which a list holds as bytes. */
const [TRUE, FALSE] = [1, 2];

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
  const zigzag = (): number => {
    const value = readVarint(byte);
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  const skip = (length: number): undefined => {
    at += length;
    if (at > bytes.length) throw new Error(`a text of ${length} bytes is longer than its header`);
  };
  const list = (depth: number): undefined => {
    const head = byte();
    const size = head >> 4 === 15 ? readVarint(byte) : head >> 4;
    if (size > bytes.length - at) throw new Error(`a list of ${size} elements is longer than its header`);
    for (let index = 0; index < size; index++) {
      const type = head & 15;
      if (type === TRUE || type === FALSE) byte();
      else element(type, depth);
    }
  };
  const struct = (depth: number): ThriftStruct => {
    const fields: Record<number, ThriftStruct[number]> = {};
    let field = 0;
    for (let head = byte(); (head & 15) !== 0; head = byte()) {
      field = head >> 4 === 0 ? zigzag() : field + (head >> 4);
      fields[field] = element(head & 15, depth);
    }
    return fields;
  };
  /** Readers by the protocol's type. */
  const readers: Readonly<Record<number, (depth: number) => ThriftStruct[number]>> = {
    ...{ [TRUE]: () => true, [FALSE]: () => false, 3: byte, 4: zigzag, 5: zigzag, 6: zigzag },
    ...{ 7: () => skip(8), 8: () => skip(readVarint(byte)), 9: list, 10: list, 12: struct },
  };
  const element = (type: number, depth: number): ThriftStruct[number] => {
    if (depth > DEEPEST) throw new Error("a header is nested too deep");
    const read = readers[type];
    if (read === undefined) throw new Error(`a header has a field of unknown type ${type}`);
    return read(depth + 1);
  };
  return { struct: struct(0), end: at };
}

/** Reads a number of seven bits a byte, the lowest first. */
export function readVarint(next: () => number): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const byte = next();
    value += (byte & 127) * scale;
    if (byte < 128) return value;
  }
}
