import type { HostTensor, ValueType } from "@mp/graph";
import { DeviceBuffer, ELEMENT_TYPE } from "./buffer.js";
import { compileArguments } from "./compile-arguments.js";
import type { Flags } from "./compile-options.js";
import { drop } from "./event.js";
import { NativeExecutable } from "./executable.js";
import { Ledger } from "./ledger.js";
import { type NamedOptions, NamedValues } from "./named-values.js";
import type { Plugin } from "./plugin.js";
import { bytesAt } from "./struct.js";

/** PJRT_HostBufferSemantics: the array is read during the call and may change after it. */
const ONLY_DURING_CALL = 0;

/** A plugin's client: compiles programs for its first device, and holds memory there. */
export class Client {
  readonly plugin: Plugin;
  /** The name of the platform: `cpu`, `cuda`. */
  readonly platform: string;
  /** The version that the platform reports, which may be several lines. */
  readonly platformVersion: string;
  /** The name of the device, such as that of the graphics card. */
  readonly device: string;
  readonly #client: bigint;
  readonly #device: bigint;
  readonly #ledger = new Ledger();
  #tellsMemory: boolean;

  private constructor(plugin: Plugin, client: bigint) {
    this.plugin = plugin;
    this.#client = client;
    this.platform = plugin
      .call("Client_PlatformName", { client })
      .text("platform_name", "platform_name_size");
    this.platformVersion = plugin
      .call("Client_PlatformVersion", { client })
      .text("platform_version", "platform_version_size");
    const devices = plugin.call("Client_AddressableDevices", { client }).pointer("addressable_devices");
    this.#device = new BigUint64Array(bytesAt(devices, 8).buffer)[0] as bigint;
    const description = plugin.call("Device_GetDescription", { device: this.#device });
    this.device = plugin
      .call("DeviceDescription_Kind", { device_description: description.pointer("device_description") })
      .text("device_kind", "device_kind_size");
    this.#tellsMemory = plugin.has("Device_MemoryStats");
  }

  /** @param options the plugin's own; one that it does not know is an error */
  static async open(plugin: Plugin, options: NamedOptions): Promise<Client> {
    const named = new NamedValues(options);
    const made = await plugin.callAsync("Client_Create", {
      create_options: named,
      num_options: named.structs.length,
    });
    return new Client(plugin, made.pointer("client"));
  }

  /** Bytes of everything that the client holds on the device, programs aside. */
  get bytes(): number {
    return this.#ledger.bytes;
  }

  /**
   * Compiles StableHLO on another thread.
   * @param outputTypes those of the results of `main`
   * @throws MP_UNSUPPORTED, MP_BACKEND_FAILED or MP_OUT_OF_MEMORY with the plugin's reason
   */
  async compile(text: string, flags: Flags, outputTypes: readonly ValueType[]): Promise<NativeExecutable> {
    const made = await this.plugin.callAsync("Client_Compile", {
      client: this.#client,
      ...compileArguments(text, flags),
    });
    return new NativeExecutable(this.plugin, this.#ledger, made.pointer("executable"), outputTypes);
  }

  /** Loads what `NativeExecutable.serialize` returned. The flags are those that it was compiled with. */
  async load(bytes: Uint8Array, outputTypes: readonly ValueType[]): Promise<NativeExecutable> {
    const made = await this.plugin.callAsync("Executable_DeserializeAndLoad", {
      client: this.#client,
      serialized_executable: bytes,
      serialized_executable_size: bytes.length,
    });
    return new NativeExecutable(this.plugin, this.#ledger, made.pointer("loaded_executable"), outputTypes);
  }

  /** Copies a tensor to the device. Its array may change after the call, though the copy may not be there yet. */
  upload({ dtype, shape, data }: HostTensor): DeviceBuffer {
    const made = this.plugin.call("Client_BufferFromHostBuffer", {
      client: this.#client,
      data,
      type: ELEMENT_TYPE[dtype],
      dims: BigInt64Array.from(shape, BigInt),
      num_dims: shape.length,
      host_buffer_semantics: ONLY_DURING_CALL,
      device: this.#device,
    });
    drop(this.plugin, made.pointer("done_with_host_buffer"));
    return new DeviceBuffer(this.plugin, this.#ledger, made.pointer("buffer"), { dtype, shape: [...shape] });
  }

  /** Bytes that can still be allocated on the device; undefined if the plugin does not say. */
  freeBytes(): number | undefined {
    if (!this.#tellsMemory) return undefined;
    try {
      const stats = this.plugin.call("Device_MemoryStats", { device: this.#device });
      if (stats.truth("bytes_limit_is_set"))
        return stats.number("bytes_limit") - stats.number("bytes_in_use");
    } catch {
      // The function is there, and answers that it is not implemented.
    }
    this.#tellsMemory = false;
    return undefined;
  }

  /** Frees what is left, and the client. No call may be pending. */
  close(): void {
    this.#ledger.releaseAll();
    this.plugin.call("Client_Destroy", { client: this.#client });
  }
}
