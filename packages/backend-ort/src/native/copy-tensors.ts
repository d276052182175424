import type { ValueType } from "@mp/core/graph";
import { DEFAULT_MEMORY, DEVICE_ALLOCATOR } from "./allocator.js";
import type { OrtLibrary } from "./library.js";
import type { DeviceCopier, DeviceTensor } from "./tensor.js";

const PROOF = Uint8Array.of(0x70, 0x72, 0x6f, 0x66);
export const PROOF_TYPE: ValueType = { dtype: "i32", shape: [1] };

/**
 * Copies whole tensors through the environment's own data transfer, for memory that has handles and no addresses. The
 * host's side is the caller's own array, which the engine takes for a tensor of the same type.
 */
export class TensorCopier implements DeviceCopier {
  readonly #library: OrtLibrary;
  readonly #environment: bigint;
  readonly #hostMemory: bigint;
  /** A number on the device, which is only read. */
  readonly #proof: DeviceTensor;

  /** `proof`: a tensor of `PROOF_TYPE` on the device. */
  constructor(library: OrtLibrary, environment: bigint, proof: DeviceTensor) {
    const { functions, make } = library;
    this.#library = library;
    this.#environment = environment;
    this.#hostMemory = make("host memory", (out) =>
      functions.CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, out),
    );
    this.#proof = proof;
    this.write(proof, PROOF);
  }

  write(target: DeviceTensor, bytes: Uint8Array): void {
    // A device has no buffer for a tensor without elements.
    if (bytes.length === 0) return;
    const host = this.#hostTensor(target, bytes);
    try {
      this.#copy(host, target.handle);
    } finally {
      this.#library.functions.ReleaseValue(host);
    }
  }

  read(source: DeviceTensor, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const host = this.#hostTensor(source, bytes);
    try {
      this.#copy(source.handle, host);
    } finally {
      this.#library.functions.ReleaseValue(host);
    }
  }

  /** Waits for the device on a worker thread. */
  async download(source: DeviceTensor, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    const host = this.#hostTensor(source, bytes);
    try {
      await this.#copyAside(source.handle, host, bytes);
    } finally {
      this.#library.functions.ReleaseValue(host);
    }
  }

  move(source: DeviceTensor, target: DeviceTensor): void {
    if (source.byteLength > 0) this.#copy(source.handle, target.handle);
  }

  /**
   * A copy that fails drops all commands that were collected with it, without a word: what is read then is zeros. A
   * number that is known is read in the same way.
   */
  async isSound(): Promise<boolean> {
    const bytes = new Uint8Array(PROOF.length);
    await this.download(this.#proof, bytes);
    return bytes.every((byte, index) => byte === PROOF[index]);
  }

  /** The caller's array as a tensor of the same type. */
  #hostTensor({ layout: { elementType, dimensions } }: DeviceTensor, bytes: Uint8Array): bigint {
    const { functions, make } = this.#library;
    const sizes = BigInt64Array.from(dimensions, BigInt);
    return make("copy", (out) =>
      functions.CreateTensorWithDataAsOrtValue(
        this.#hostMemory,
        bytes,
        bytes.length,
        sizes,
        sizes.length,
        elementType,
        out,
      ),
    );
  }

  #copy(from: bigint, to: bigint): void {
    const { functions, check } = this.#library;
    const [sources, targets] = [BigUint64Array.of(from), BigUint64Array.of(to)];
    check(functions.CopyTensors(this.#environment, sources, targets, null, 1), "copy");
  }

  #copyAside(from: bigint, to: bigint, bytes: Uint8Array): Promise<void> {
    const { functions, check } = this.#library;
    const [sources, targets] = [BigUint64Array.of(from), BigUint64Array.of(to)];
    // The worker thread reads and writes these while nothing else may reference them; the callback keeps them alive.
    const inUse: unknown[] = [sources, targets, bytes];
    return new Promise((resolve, reject) => {
      functions.CopyTensors.async(this.#environment, sources, targets, null, 1, (error, status) => {
        inUse.length = 0;
        try {
          if (error !== null) throw error;
          check(status, "copy");
          resolve();
        } catch (failure) {
          reject(failure);
        }
      });
    });
  }
}
