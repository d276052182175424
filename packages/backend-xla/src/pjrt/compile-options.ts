import { type FieldValue, Struct } from "./struct.js";

/** XLA's flags by name. */
export type Flags = Readonly<Record<string, boolean | number | string>>;

const WIRE = { varint: 0, bytes: 2 } as const;

/**
 * A CompileOptionsProto for a program of one or several devices: 3 = the build's options, with 4 = replicas, 5 =
 * partitions, 6 = whether XLA divides the program among them and 19 = by Shardy; 7 = a map of flags, with 1 = name and
 * 2 = value, which has 1 = text, 2 = truth or 3 = integer.
 */
export function compileOptions(flags: Flags, devices: number): Uint8Array {
  const divides = Number(devices > 1);
  const fields = Object.entries({ 4: 1, 5: devices, 6: divides, 19: divides });
  const build = Buffer.concat(fields.map(([field, value]) => integerField(Number(field), value)));
  const entries = Object.entries(flags).map(([name, value]) =>
    bytesField(7, Buffer.concat([bytesField(1, Buffer.from(name)), bytesField(2, flagValue(value))])),
  );
  return Buffer.concat([bytesField(3, build), ...entries]);
}

/** What both functions that compile take: StableHLO as text, the options, and how many devices run it together. */
export function compileArguments(
  text: string,
  flags: Flags,
  devices: number,
): Readonly<Record<"program" | "compile_options" | "compile_options_size", FieldValue>> {
  const [code, format, options] = [Buffer.from(text), Buffer.from("mlir"), compileOptions(flags, devices)];
  return {
    program: new Struct("Program", { code, code_size: code.length, format, format_size: format.length }),
    compile_options: options,
    compile_options_size: options.length,
  };
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
