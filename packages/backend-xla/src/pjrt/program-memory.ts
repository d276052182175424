import type { ProgramMemory } from "./compiled-program.js";
import type { Plugin } from "./plugin.js";

/** @param executable a compiled program, loaded or not */
export function readMemory(plugin: Plugin, executable: bigint): ProgramMemory {
  const stats = plugin.call("Executable_GetCompiledMemoryStats", { executable });
  return {
    arguments: stats.number("argument_size_in_bytes"),
    results: stats.number("output_size_in_bytes"),
    aliased: stats.number("alias_size_in_bytes"),
    temporary: stats.number("temp_size_in_bytes"),
  };
}
