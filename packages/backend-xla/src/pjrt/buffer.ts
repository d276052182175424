import {
  byteLength,
  type DType,
  elementCount,
  type HostTensor,
  hostArrayOf,
  type ValueType,
} from "@mp/graph";
import { type Ledger, NativeResource } from "@mp/graph/internal";
import { settle } from "./event.js";
import type { Plugin } from "./plugin.js";

/** PJRT_Buffer_Type of each dtype. */
export const ELEMENT_TYPE: Readonly<Record<DType, number>> = {
  bool: 1,
  i32: 4,
  i64: 5,
  u8: 6,
  u64: 9,
  f16: 10,
  f32: 11,
  bf16: 13,
  f8e5m2: 16,
  f8e4m3: 17,
};

/** A tensor in device memory, perhaps still being computed. Each device has all of it or some of its rows. */
export class DeviceBuffer extends NativeResource<readonly bigint[]> {
  /** The type of the part that each device holds. */
  readonly type: ValueType;
  readonly #plugin: Plugin;

  /** @param handles one for each device */
  constructor(plugin: Plugin, ledger: Ledger, handles: readonly bigint[], type: ValueType) {
    super("XLA: buffer", handles, ledger, byteLength(type) * handles.length);
    this.type = type;
    this.#plugin = plugin;
  }

  /** Bytes on all devices, added up. */
  get sizeBytes(): number {
    return byteLength(this.type) * this.handle.length;
  }

  /** Whether results of a run have taken over the memory. */
  get isDonated(): boolean {
    return this.handle.some((buffer) =>
      this.#plugin.call("Buffer_IsDeleted", { buffer }).truth("is_deleted"),
    );
  }

  /** Begins to copy the first device's tensor to the host. The returned function waits for the copy. */
  beginDownload(): () => Promise<HostTensor> | HostTensor {
    const { dtype, shape } = this.type;
    const data = new hostArrayOf[dtype](elementCount(shape, "download"));
    const tensor = { dtype, shape, data } as HostTensor;
    if (data.byteLength === 0) return () => tensor;
    const args = this.#plugin.call("Buffer_ToHostBuffer", {
      src: this.handle[0] ?? 0n,
      dst: data,
      dst_size: data.byteLength,
    });
    return () => {
      const waiting = settle(this.#plugin, args.pointer("event"));
      return waiting === undefined ? tensor : waiting.then(() => tensor);
    };
  }

  /** Copies the first device's tensor to the host. */
  async download(): Promise<HostTensor> {
    return this.beginDownload()();
  }

  protected free(handles: readonly bigint[]): void {
    for (const buffer of handles) this.#plugin.call("Buffer_Destroy", { buffer });
  }
}
