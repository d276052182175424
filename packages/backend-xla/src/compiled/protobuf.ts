import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/**
 * The fields of a protocol buffer message by number, read without a schema. For an absent field, the functions
 * below return proto3's default.
 */
export type Message = ReadonlyMap<number, readonly (number | Uint8Array)[]>;

/** Reads a message; its fields of fixed length are left out. @throws Error for bytes that are no message */
export function readMessage(bytes: Uint8Array): Message {
  const fields = new Map<number, (number | Uint8Array)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    const values = fields.get(field) ?? [];
    fields.set(field, values);
    if (wire === WireType.Varint) values.push(Number(reader.int64()));
    else if (wire === WireType.LengthDelimited) values.push(reader.bytes());
    else reader.skip(wire, field);
  }
  return fields;
}

export function numberAt(message: Message, field: number): number {
  const value = message.get(field)?.at(-1);
  return typeof value === "number" ? value : 0;
}

/** Returns the integers of a repeated field, packed or not. */
export function numbersAt(message: Message, field: number): readonly number[] {
  return (message.get(field) ?? []).flatMap((value) => (typeof value === "number" ? value : unpack(value)));
}

function unpack(bytes: Uint8Array): readonly number[] {
  const values: number[] = [];
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) values.push(Number(reader.int64()));
  return values;
}

export function textAt(message: Message, field: number): string {
  const value = message.get(field)?.at(-1);
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
}

/** Returns the messages of a repeated field. */
export function messagesAt(message: Message, field: number): readonly Message[] {
  return (message.get(field) ?? []).flatMap((value) =>
    value instanceof Uint8Array ? [readMessage(value)] : [],
  );
}

export function messageAt(message: Message, field: number): Message {
  return messagesAt(message, field).at(-1) ?? new Map();
}
