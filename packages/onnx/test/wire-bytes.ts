/** Protobuf's wire format by hand, for bytes that no writer would make. */
export type Bytes = readonly number[];

export function varint(value: number): Bytes {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 0x80);
  return [...bytes, rest];
}

export const tag = (field: number, wireType: number): Bytes => varint(field * 8 + wireType);
export const int = (field: number, value: number): Bytes => [...tag(field, 0), ...varint(value)];
export const data = (field: number, payload: Bytes): Bytes => [
  ...tag(field, 2),
  ...varint(payload.length),
  ...payload,
];
export const text = (field: number, value: string): Bytes => data(field, [...Buffer.from(value)]);
export const bytes = (...parts: readonly Bytes[]): Uint8Array => Uint8Array.from(parts.flat());
