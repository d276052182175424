/**
 * The wire format of protocol buffers, read without generated code: a message is its fields by number. Of a field that
 * is absent every reader returns proto3's default.
 */
export type Message = ReadonlyMap<number, readonly (number | Uint8Array)[]>;

const VARINT = 0;
const LENGTH = 2;
/** Bytes of the wire types of fixed length. */
const FIXED: Readonly<Record<number, number>> = { 1: 8, 5: 4 };

/** Reads integers of 7 bits a byte from `at` on. Those beyond 2⁵³ are rounded: no field that is read here has any. */
function varints(
  bytes: Uint8Array,
  at = 0,
): { readonly done: () => boolean; readonly next: () => number } & {
  readonly take: (length: number) => Uint8Array;
} {
  let position = at;
  return {
    done: () => position >= bytes.length,
    next: () => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        const byte = bytes[position++] ?? 0;
        value += (byte & 127) * scale;
        if (byte < 128) return value;
      }
    },
    take: (length) => {
      position += length;
      return bytes.subarray(position - length, position);
    },
  };
}

/** @throws Error for a wire type that messages have not */
export function readMessage(bytes: Uint8Array): Message {
  const fields = new Map<number, (number | Uint8Array)[]>();
  const reader = varints(bytes);
  while (!reader.done()) {
    const key = reader.next();
    const [field, wire] = [Math.floor(key / 8), key % 8];
    const length = wire === LENGTH ? reader.next() : FIXED[wire];
    if (length === undefined && wire !== VARINT) throw new Error(`internal: wire type ${wire} in a message`);
    const value = length === undefined ? reader.next() : reader.take(length);
    const values = fields.get(field);
    if (values === undefined) fields.set(field, [value]);
    else values.push(value);
  }
  return fields;
}

export function numberAt(message: Message, field: number): number {
  const value = message.get(field)?.at(-1);
  return typeof value === "number" ? value : 0;
}

/** A repeated field of integers, packed or not. */
export function numbersAt(message: Message, field: number): readonly number[] {
  return (message.get(field) ?? []).flatMap((value) => (typeof value === "number" ? value : unpack(value)));
}

function unpack(bytes: Uint8Array): readonly number[] {
  const values: number[] = [];
  const reader = varints(bytes);
  while (!reader.done()) values.push(reader.next());
  return values;
}

export function textAt(message: Message, field: number): string {
  const value = message.get(field)?.at(-1);
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
}

/** A repeated field of messages. */
export function messagesAt(message: Message, field: number): readonly Message[] {
  return (message.get(field) ?? []).flatMap((value) =>
    value instanceof Uint8Array ? [readMessage(value)] : [],
  );
}

export function messageAt(message: Message, field: number): Message {
  return messagesAt(message, field).at(-1) ?? new Map();
}
