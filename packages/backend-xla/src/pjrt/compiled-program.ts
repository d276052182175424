/** What the compiler has made of a program: types alone, for declarations that users read. */

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
