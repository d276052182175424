/** XLA's flags by name. */
export type Flags = Readonly<Record<string, boolean | number | string>>;

const WIRE = { varint: 0, bytes: 2 } as const;

/**
 * A CompileOptionsProto for one device: 3 = the build's options, with 4 = replicas and 5 = partitions; 7 = a map of
 * flags, with 1 = name and 2 = value, which has 1 = text, 2 = truth or 3 = integer.
 */
export function compileOptions(flags: Flags): Uint8Array {
  const build = Buffer.concat([integerField(4, 1), integerField(5, 1)]);
  const entries = Object.entries(flags).map(([name, value]) =>
    bytesField(7, Buffer.concat([bytesField(1, Buffer.from(name)), bytesField(2, flagValue(value))])),
  );
  return Buffer.concat([bytesField(3, build), ...entries]);
}

function flagValue(value: Flags[string]): Buffer {
  if (typeof value === "string") return bytesField(1, Buffer.from(value));
  return typeof value === "boolean" ? integerField(2, Number(value)) : integerField(3, value ?? 0);
}

const integerField = (field: number, value: number): Buffer =>
  Buffer.concat([varint((field << 3) | WIRE.varint), varint(value)]);

const bytesField = (field: number, bytes: Buffer): Buffer =>
  Buffer.concat([varint((field << 3) | WIRE.bytes), varint(bytes.length), bytes]);

/** @param value an integer ≥ 0 */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}
