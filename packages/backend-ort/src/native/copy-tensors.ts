import type { ValueType } from "@mp/graph";
import { DEFAULT_MEMORY, DEVICE_ALLOCATOR } from "./allocator.js";
import type { OrtLibrary } from "./library.js";
import type { DeviceCopier, DeviceTensor } from "./tensor.js";
import { tensorOver } from "./tensor-over.js";

const PROOF = Uint8Array.of(0x70, 0x72, 0x6f, 0x66);
export const PROOF_TYPE: ValueType = { dtype: "i32", shape: [1] };

/**
 * Copies whole tensors by the environment's data transfer, for device memory without addresses. On the host
 * side, the engine treats the caller's array as a tensor of the device tensor's type.
 */
export class TensorCopier implements DeviceCopier {
  readonly #library: OrtLibrary;
  readonly #environment: bigint;
  readonly #hostMemory: bigint;
  /** A tensor on the device that is written once, with `PROOF`. */
  readonly #proof: DeviceTensor;

  /** @param proof a tensor of `PROOF_TYPE` on the device */
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
    this.#withHostTensor(target, bytes, (host) => this.#copy(host, target.handle));
  }

  read(source: DeviceTensor, bytes: Uint8Array): void {
    this.#withHostTensor(source, bytes, (host) => this.#copy(source.handle, host));
  }

  /** Copies to the host, without blocking: a worker thread waits for the device. */
  async download(source: DeviceTensor, bytes: Uint8Array): Promise<void> {
    // A device has no buffer for a tensor without elements.
    if (bytes.length === 0) return;
    const host = this.#hostTensor(source, bytes);
    try {
      await this.#copyOnWorker(source.handle, host, bytes);
    } finally {
      this.#library.functions.ReleaseValue(host);
    }
  }

  move(source: DeviceTensor, target: DeviceTensor): void {
    if (source.byteLength > 0) this.#copy(source.handle, target.handle);
  }

  /**
   * Tests by reading a tensor with known contents whether all copies since the last call arrived. If a copy fails, the
   * device drops all commands of the same batch without an error, and reads then give zeros.
   */
  async isSound(): Promise<boolean> {
    const bytes = new Uint8Array(PROOF.length);
    await this.download(this.#proof, bytes);
    return bytes.every((byte, index) => byte === PROOF[index]);
  }

  #withHostTensor(like: DeviceTensor, bytes: Uint8Array, copy: (host: bigint) => void): void {
    if (bytes.length === 0) return;
    const host = this.#hostTensor(like, bytes);
    try {
      copy(host);
    } finally {
      this.#library.functions.ReleaseValue(host);
    }
  }

  /** Wraps the caller's array as a host tensor of the device tensor's type. */
  #hostTensor({ layout }: DeviceTensor, bytes: Uint8Array): bigint {
    const memory = { info: this.#hostMemory, data: bytes, byteLength: bytes.length };
    return tensorOver(this.#library, "copy", memory, layout);
  }

  #copy(from: bigint, to: bigint): void {
    const { functions, check } = this.#library;
    const [sources, targets] = [BigUint64Array.of(from), BigUint64Array.of(to)];
    check(functions.CopyTensors(this.#environment, sources, targets, null, 1), "copy");
  }

  #copyOnWorker(from: bigint, to: bigint, bytes: Uint8Array): Promise<void> {
    const { functions, settle } = this.#library;
    const [sources, targets] = [BigUint64Array.of(from), BigUint64Array.of(to)];
    return settle("copy", [sources, targets, bytes], (done) =>
      functions.CopyTensors.async(this.#environment, sources, targets, null, 1, done),
    );
  }
}
