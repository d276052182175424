import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { type FieldValue, Struct } from "./struct.js";

/** XLA's flags by name. */
export type Flags = Readonly<Record<string, boolean | number | string>>;

/**
 * Encodes a CompileOptionsProto for a program of one or several devices. Fields: 3 = the build's options,
 * with 4 = replicas, 5 = partitions, 6 = whether XLA divides the program among them and 19 = by Shardy; 7 = a
 * map of flags, with 1 = name and 2 = value, which has 1 = text, 2 = truth or 3 = integer.
 */
export function compileOptions(flags: Flags, devices: number): Uint8Array {
  const divides = Number(devices > 1);
  const writer = begin(new BinaryWriter(), 3);
  for (const [field, value] of Object.entries({ 4: 1, 5: devices, 6: divides, 19: divides }))
    writer.tag(Number(field), WireType.Varint).int32(value);
  writer.join();
  for (const [name, value] of Object.entries(flags)) {
    begin(begin(writer, 7).tag(1, WireType.LengthDelimited).string(name), 2);
    if (typeof value === "string") writer.tag(1, WireType.LengthDelimited).string(value);
    else if (typeof value === "boolean") writer.tag(2, WireType.Varint).bool(value);
    else writer.tag(3, WireType.Varint).int64(value);
    writer.join().join();
  }
  return writer.finish();
}

/** Begins the message of a field, which `join` ends. */
const begin = (writer: BinaryWriter, field: number): BinaryWriter =>
  writer.tag(field, WireType.LengthDelimited).fork();

/** Makes the arguments that both compile functions take. @param devices how many devices run the program together */
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
