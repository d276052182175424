import type { Plugin } from "./plugin.js";

/** Bytes that a compiled program needs on each device. */
export interface ProgramMemory {
  readonly arguments: number;
  readonly results: number;
  /** Bytes of the results that take over memory of arguments. */
  readonly aliased: number;
  readonly temporary: number;
}

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
