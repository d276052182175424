/** A program after compilation. Types only, so that the package's public types import no plugin code. */

/** A module after all compiler passes, in a format that the plugin names. */
export interface OptimizedModule {
  readonly bytes: Uint8Array;
  readonly format: string;
}

/** Bytes that a compiled program needs on each device. */
export interface ProgramMemory {
  readonly arguments: number;
  readonly results: number;
  /** Bytes of the results that take over memory of arguments. */
  readonly aliased: number;
  readonly temporary: number;
}

export interface CompiledProgram {
  readonly module: OptimizedModule;
  readonly memory: ProgramMemory;
}
