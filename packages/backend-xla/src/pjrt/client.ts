import { elementCount, type HostTensor, type ValueType } from "@mp/graph";
import { Ledger } from "@mp/graph/internal";
import { DeviceBuffer, ELEMENT_TYPE } from "./buffer.js";
import { compileArguments, type Flags } from "./compile-options.js";
import { drop } from "./event.js";
import { NativeExecutable } from "./executable.js";
import { type NamedOptions, NamedValues } from "./named-values.js";
import type { Plugin } from "./plugin.js";
import { bytesAt } from "./struct.js";

/** PJRT_HostBufferSemantics: the array is read during the call and may change after it. */
const ONLY_DURING_CALL = 0;

/** A plugin's client. It holds memory on its devices, and compiles programs that the devices run together. */
export class Client {
  readonly plugin: Plugin;
  /** The name of the platform: `cpu`, `cuda`. */
  readonly platform: string;
  /** The version that the platform reports, which may be several lines. */
  readonly platformVersion: string;
  /** The kind of device, such as the model of the GPU. */
  readonly device: string;
  readonly #client: bigint;
  readonly #devices: readonly bigint[];
  readonly #ledger = new Ledger();
  #tellsMemory: boolean;

  private constructor(plugin: Plugin, client: bigint, deviceCount: number) {
    this.plugin = plugin;
    this.#client = client;
    this.platform = plugin
      .call("Client_PlatformName", { client })
      .text("platform_name", "platform_name_size");
    this.platformVersion = plugin
      .call("Client_PlatformVersion", { client })
      .text("platform_version", "platform_version_size");
    const found = plugin.call("Client_AddressableDevices", { client });
    const all = bytesAt(found.pointer("addressable_devices"), 8 * found.number("num_addressable_devices"));
    this.#devices = [...new BigUint64Array(all.buffer)].slice(0, deviceCount);
    const description = plugin.call("Device_GetDescription", { device: this.#devices[0] ?? 0n });
    this.device = plugin
      .call("DeviceDescription_Kind", { device_description: description.pointer("device_description") })
      .text("device_kind", "device_kind_size");
    this.#tellsMemory = plugin.has("Device_MemoryStats");
  }

  /**
   * @param options options of the plugin; the plugin refuses unknown ones
   * @param deviceCount the most devices to use
   */
  static async open(plugin: Plugin, options: NamedOptions, deviceCount: number): Promise<Client> {
    const named = new NamedValues(options);
    const made = await plugin.callAsync("Client_Create", {
      create_options: named,
      num_options: named.structs.length,
    });
    return new Client(plugin, made.pointer("client"), deviceCount);
  }

  get deviceCount(): number {
    return this.#devices.length;
  }

  /**
   * Compiles StableHLO text on another thread.
   * @param outputTypes types of the results of `main`
   * @throws MP_UNSUPPORTED, MP_BACKEND_FAILED or MP_OUT_OF_MEMORY with the plugin's reason
   */
  async compile(text: string, flags: Flags, outputTypes: readonly ValueType[]): Promise<NativeExecutable> {
    const made = await this.plugin.callAsync("Client_Compile", {
      client: this.#client,
      ...compileArguments(text, flags, this.deviceCount),
    });
    return this.#executable(made.pointer("executable"), outputTypes);
  }

  /** Loads a program that `NativeExecutable.serialize` returned, with the flags of its compilation. */
  async load(bytes: Uint8Array, outputTypes: readonly ValueType[]): Promise<NativeExecutable> {
    const made = await this.plugin.callAsync("Executable_DeserializeAndLoad", {
      client: this.#client,
      serialized_executable: bytes,
      serialized_executable_size: bytes.length,
    });
    return this.#executable(made.pointer("loaded_executable"), outputTypes);
  }

  /**
   * Copies a tensor to every device, or shards its rows equally over the devices. The caller may change the array after
   * the call, even while it is still being copied.
   */
  upload({ dtype, shape, data }: HostTensor, isDivided = false): DeviceBuffer {
    const rows = (shape[0] ?? 1) / this.deviceCount;
    const type = { dtype, shape: isDivided ? shape.with(0, rows) : [...shape] };
    const length = elementCount(type.shape, "upload");
    const handles: bigint[] = [];
    try {
      for (const [index, device] of this.#devices.entries()) {
        const begin = isDivided ? index * length : 0;
        handles.push(this.#copyTo(device, type, data.subarray(begin, begin + length)));
      }
      return new DeviceBuffer(this.plugin, this.#ledger, handles, type);
    } catch (error) {
      for (const buffer of handles) this.plugin.call("Buffer_Destroy", { buffer });
      throw error;
    }
  }

  /** Bytes that are free on each device; undefined if the plugin does not report this. */
  freeBytes(): number | undefined {
    if (!this.#tellsMemory) return undefined;
    try {
      const all = this.#devices.map((device) => this.plugin.call("Device_MemoryStats", { device }));
      if (all.every((stats) => stats.truth("bytes_limit_is_set")))
        return Math.min(...all.map((stats) => stats.number("bytes_limit") - stats.number("bytes_in_use")));
    } catch {
      // Some plugins have the function but do not implement it.
    }
    this.#tellsMemory = false;
    return undefined;
  }

  /** Frees all unreleased resources, then the client. No call may be pending. */
  close(): void {
    this.#ledger.releaseAll();
    this.plugin.call("Client_Destroy", { client: this.#client });
  }

  #executable(handle: bigint, outputTypes: readonly ValueType[]): NativeExecutable {
    return new NativeExecutable(this.plugin, this.#ledger, handle, outputTypes, this.deviceCount);
  }

  #copyTo(device: bigint, { dtype, shape }: ValueType, data: ArrayBufferView): bigint {
    const made = this.plugin.call("Client_BufferFromHostBuffer", {
      client: this.#client,
      data,
      type: ELEMENT_TYPE[dtype],
      dims: BigInt64Array.from(shape, BigInt),
      num_dims: shape.length,
      host_buffer_semantics: ONLY_DURING_CALL,
      device,
    });
    drop(this.plugin, made.pointer("done_with_host_buffer"));
    return made.pointer("buffer");
  }
}
