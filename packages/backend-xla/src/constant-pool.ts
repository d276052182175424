import { createHash } from "node:crypto";
import type { HostTensor } from "@mp/graph";
import type { Client, DeviceBuffer } from "./pjrt/index.js";

/** Large constants on the device, one buffer for all programs with an equal constant. */
export class ConstantPool {
  readonly #client: Client;
  readonly #entries = new Map<string, { readonly buffer: DeviceBuffer; uses: number }>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns the buffers of these constants and counts one more use of each. If it throws, no use is counted. */
  acquire(constants: readonly HostTensor[]): readonly DeviceBuffer[] {
    const acquired: HostTensor[] = [];
    try {
      return constants.map((value) => {
        const key = contentKey(value);
        const entry = this.#entries.get(key) ?? { buffer: this.#client.upload(value), uses: 0 };
        this.#entries.set(key, entry);
        entry.uses++;
        acquired.push(value);
        return entry.buffer;
      });
    } catch (error) {
      this.release(acquired);
      throw error;
    }
  }

  /** Ends one use of each constant, and frees buffers that have no use left. */
  release(constants: readonly HostTensor[]): void {
    for (const value of constants) {
      const key = contentKey(value);
      const entry = this.#entries.get(key);
      if (entry === undefined || --entry.uses > 0) continue;
      this.#entries.delete(key);
      entry.buffer.release();
    }
  }
}

function contentKey({ dtype, shape, data }: HostTensor): string {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return `${dtype} [${shape.join()}] ${createHash("sha256").update(bytes).digest("base64")}`;
}
