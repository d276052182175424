import { compileArguments, type Flags } from "./compile-options.js";
import type { CompiledProgram } from "./compiled-program.js";
import { type NamedOptions, NamedValues } from "./named-values.js";
import { optimizedModule } from "./optimized-module.js";
import type { Plugin } from "./plugin.js";
import { readMemory } from "./program-memory.js";

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
      return {
        module: optimizedModule(this.#plugin, executable),
        memory: readMemory(this.#plugin, executable),
      };
    } finally {
      this.#plugin.call("Executable_Destroy", { executable });
    }
  }

  release(): void {
    this.#plugin.call("TopologyDescription_Destroy", { topology: this.#topology });
  }
}
