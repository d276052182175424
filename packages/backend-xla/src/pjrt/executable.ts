import type { ValueType } from "@mp/graph";
import { type Ledger, NativeResource } from "@mp/graph/internal";
import koffi from "koffi";
import { DeviceBuffer } from "./buffer.js";
import type { OptimizedModule } from "./compiled-program.js";
import { optimizedModule } from "./optimized-module.js";
import type { Plugin } from "./plugin.js";
import { readMemory } from "./program-memory.js";
import { bytesAt, Struct } from "./struct.js";

const DELETER = koffi.proto("void (void *made)");

interface Executed {
  readonly outputs: readonly DeviceBuffer[];
  /** One event per device that marks the end of the run; the caller settles them. */
  readonly done: readonly bigint[];
}

/** A compiled program, loaded on the devices. */
export class NativeExecutable extends NativeResource {
  /** Bytes that a run takes besides its arguments; 0 if the plugin does not report this. */
  readonly workBytes: number;
  readonly #plugin: Plugin;
  readonly #ledger: Ledger;
  readonly #executable: bigint;
  readonly #outputTypes: readonly ValueType[];
  /** Handles of the results on each device, which a run fills in. */
  readonly #outputs: readonly BigUint64Array[];
  readonly #done: BigUint64Array;
  readonly #args: Struct<"LoadedExecutable_Execute">;

  /** @param outputTypes types of the program's results; each device has every result whole */
  constructor(
    plugin: Plugin,
    ledger: Ledger,
    handle: bigint,
    outputTypes: readonly ValueType[],
    devices: number,
  ) {
    super("XLA: executable", handle, ledger);
    this.#plugin = plugin;
    this.#ledger = ledger;
    this.#outputTypes = outputTypes;
    const found = plugin.call("LoadedExecutable_GetExecutable", { loaded_executable: handle });
    this.#executable = found.pointer("executable");
    this.workBytes = this.#countWorkBytes();
    const size = Math.max(1, outputTypes.length);
    this.#outputs = Array.from({ length: devices }, () => new BigUint64Array(size));
    this.#done = new BigUint64Array(devices);
    this.#args = new Struct("LoadedExecutable_Execute", {
      executable: handle,
      options: new Struct("ExecuteOptions"),
      num_devices: devices,
      output_lists: pointersTo(this.#outputs),
      device_complete_events: this.#done,
    });
  }

  /**
   * Begins a run. Arguments that the program aliases to results are donated: results take over their memory,
   * but the caller must still release the arguments.
   */
  execute(inputs: readonly DeviceBuffer[]): Executed {
    const lists = this.#outputs.map((_, device) =>
      BigUint64Array.from(inputs, ({ handle }) => handle[device] as bigint),
    );
    this.#args.set("argument_lists", pointersTo(lists));
    this.#args.set("num_args", inputs.length);
    this.#plugin.callWith("LoadedExecutable_Execute", this.#args);
    const outputs = this.#outputTypes.map((type, index) => {
      const handles = this.#outputs.map((list) => list[index] as bigint);
      return new DeviceBuffer(this.#plugin, this.#ledger, handles, type);
    });
    return { outputs, done: [...this.#done] };
  }

  /** Returns the compiled program as bytes, for `Client.load` with the same plugin and the same device. */
  serialize(): Uint8Array {
    const made = this.#plugin.call("Executable_Serialize", { executable: this.#executable });
    const bytes = bytesAt(made.pointer("serialized_bytes"), made.number("serialized_bytes_size"));
    const remove = koffi.decode(made.pointer("serialized_executable_deleter"), DELETER);
    remove(made.pointer("serialized_executable"));
    return bytes;
  }

  /** Returns the compiled program; undefined if the plugin does not show it. */
  optimizedModule(): OptimizedModule | undefined {
    if (!this.#plugin.has("Executable_OptimizedProgram")) return undefined;
    return optimizedModule(this.#plugin, this.#executable);
  }

  #countWorkBytes(): number {
    if (!this.#plugin.has("Executable_GetCompiledMemoryStats")) return 0;
    const { temporary, results, aliased } = readMemory(this.#plugin, this.#executable);
    return temporary + results - aliased;
  }

  protected free(executable: bigint): void {
    this.#plugin.call("Executable_Destroy", { executable: this.#executable });
    this.#plugin.call("LoadedExecutable_Destroy", { executable });
  }
}

/** A list of pointers, with what they point to. */
function pointersTo(lists: readonly BigUint64Array[]) {
  const pointers = BigUint64Array.from(lists, (list) =>
    list.byteLength === 0 ? 0n : BigInt(koffi.address(list)),
  );
  return { bytes: new Uint8Array(pointers.buffer), lists };
}
