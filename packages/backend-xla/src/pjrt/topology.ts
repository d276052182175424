import { compileArguments, type Flags } from "./compile-options.js";
import { type NamedOptions, NamedValues } from "./named-values.js";
import type { Plugin } from "./plugin.js";
import { type ProgramMemory, readMemory } from "./program-memory.js";
import { Struct } from "./struct.js";

export interface CompiledProgram {
  /** The module after all compiler passes, in a format that the plugin names. */
  readonly module: { readonly bytes: Uint8Array; readonly format: string };
  readonly memory: ProgramMemory;
}

/** Describes devices for which programs can be compiled. The devices need not be present. */
export class Topology {
  readonly #plugin: Plugin;
  readonly #topology: bigint;
  readonly #devices: number;

  /**
   * @param options options of the plugin
   * @param devices how many devices run a program together
   */
  constructor(plugin: Plugin, options: NamedOptions, devices: number) {
    const named = new NamedValues(options);
    this.#plugin = plugin;
    this.#devices = devices;
    this.#topology = plugin
      .call("TopologyDescription_Create", {
        topology_name: Buffer.from("\0"),
        create_options: named,
        num_options: named.structs.length,
      })
      .pointer("topology");
  }

  /**
   * Compiles StableHLO on another thread, without a client, and returns the compiled program.
   * @throws MP_UNSUPPORTED, MP_BACKEND_FAILED or MP_OUT_OF_MEMORY with the plugin's reason
   */
  async compile(text: string, flags: Flags): Promise<CompiledProgram> {
    const made = await this.#plugin.callAsync("Compile", {
      topology: this.#topology,
      ...compileArguments(text, flags, this.#devices),
    });
    const executable = made.pointer("executable");
    try {
      return { module: this.#module(executable), memory: readMemory(this.#plugin, executable) };
    } finally {
      this.#plugin.call("Executable_Destroy", { executable });
    }
  }

  release(): void {
    this.#plugin.call("TopologyDescription_Destroy", { topology: this.#topology });
  }

  #module(executable: bigint): CompiledProgram["module"] {
    const program = new Struct("Program");
    const args = new Struct("Executable_OptimizedProgram", { executable, program });
    // The first call asks for the size.
    this.#plugin.callWith("Executable_OptimizedProgram", args);
    const bytes = new Uint8Array(new ArrayBuffer(program.number("code_size")));
    program.set("code", bytes);
    this.#plugin.callWith("Executable_OptimizedProgram", args);
    return { bytes, format: program.text("format", "format_size") };
  }
}
