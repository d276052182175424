import { compileOptions, type Flags } from "./compile-options.js";
import { type FieldValue, Struct } from "./struct.js";

/** What both functions that compile take: StableHLO as text, and the options. */
export function compileArguments(
  text: string,
  flags: Flags,
): Readonly<Record<"program" | "compile_options" | "compile_options_size", FieldValue>> {
  const [code, format, options] = [Buffer.from(text), Buffer.from("mlir"), compileOptions(flags)];
  return {
    program: new Struct("Program", { code, code_size: code.length, format, format_size: format.length }),
    compile_options: options,
    compile_options_size: options.length,
  };
}
