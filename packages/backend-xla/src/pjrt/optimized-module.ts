import type { OptimizedModule } from "./compiled-program.js";
import type { Plugin } from "./plugin.js";
import { Struct } from "./struct.js";

export function optimizedModule(plugin: Plugin, executable: bigint): OptimizedModule {
  const program = new Struct("Program");
  const args = new Struct("Executable_OptimizedProgram", { executable, program });
  // The first call asks for the size.
  plugin.callWith("Executable_OptimizedProgram", args);
  const bytes = new Uint8Array(new ArrayBuffer(program.number("code_size")));
  program.set("code", bytes);
  plugin.callWith("Executable_OptimizedProgram", args);
  return { bytes, format: program.text("format", "format_size") };
}
