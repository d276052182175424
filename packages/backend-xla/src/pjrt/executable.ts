import type { ValueType } from "@mp/graph";
import koffi from "koffi";
import { DeviceBuffer } from "./buffer.js";
import { type Ledger, Resource } from "./ledger.js";
import type { Plugin } from "./plugin.js";
import { readMemory } from "./program-memory.js";
import { bytesAt, Struct } from "./struct.js";

const DELETER = koffi.proto("void (void *made)");

interface Executed {
  readonly outputs: readonly DeviceBuffer[];
  /** The event of the end of the run; the caller settles it. */
  readonly done: bigint;
}

/** A program on the device. */
export class NativeExecutable extends Resource {
  /** Bytes that a run takes besides its arguments; 0 if the plugin does not say. */
  readonly workBytes: number;
  readonly #plugin: Plugin;
  readonly #ledger: Ledger;
  readonly #executable: bigint;
  readonly #outputTypes: readonly ValueType[];
  readonly #outputs: BigUint64Array;
  readonly #done = new BigUint64Array(1);
  readonly #args: Struct<"LoadedExecutable_Execute">;

  /** @param outputTypes those of the program's results */
  constructor(plugin: Plugin, ledger: Ledger, handle: bigint, outputTypes: readonly ValueType[]) {
    super("executable", handle, ledger);
    this.#plugin = plugin;
    this.#ledger = ledger;
    this.#outputTypes = outputTypes;
    const found = plugin.call("LoadedExecutable_GetExecutable", { loaded_executable: handle });
    this.#executable = found.pointer("executable");
    this.workBytes = this.#countWorkBytes();
    this.#outputs = new BigUint64Array(Math.max(1, outputTypes.length));
    this.#args = new Struct("LoadedExecutable_Execute", {
      executable: handle,
      options: new Struct("ExecuteOptions"),
      num_devices: 1,
      output_lists: pointerTo(this.#outputs),
      device_complete_events: this.#done,
    });
  }

  /**
   * Begins a run. Arguments that the program aliases to results are donated: their memory is taken over, and only
   * their release is left to the caller.
   */
  execute(inputs: readonly DeviceBuffer[]): Executed {
    const list = BigUint64Array.from(inputs, ({ handle }) => handle);
    this.#args.set("argument_lists", pointerTo(list));
    this.#args.set("num_args", inputs.length);
    this.#plugin.callWith("LoadedExecutable_Execute", this.#args);
    const outputs = this.#outputTypes.map(
      (type, index) => new DeviceBuffer(this.#plugin, this.#ledger, this.#outputs[index] as bigint, type),
    );
    return { outputs, done: this.#done[0] as bigint };
  }

  /** The compiled program, for `Client.load` of a process with the same plugin and the same device. */
  serialize(): Uint8Array {
    const made = this.#plugin.call("Executable_Serialize", { executable: this.#executable });
    const bytes = bytesAt(made.pointer("serialized_bytes"), made.number("serialized_bytes_size"));
    const remove = koffi.decode(made.pointer("serialized_executable_deleter"), DELETER);
    remove(made.pointer("serialized_executable"));
    return bytes;
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

/** A list of one pointer, with what it points to. */
function pointerTo(memory: BigUint64Array): { readonly bytes: Uint8Array; readonly memory: BigUint64Array } {
  const address = memory.byteLength === 0 ? 0n : BigInt(koffi.address(memory));
  return { bytes: new Uint8Array(BigUint64Array.of(address).buffer), memory };
}
