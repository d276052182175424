import {
  bytesPerElement,
  type DType,
  elementCount,
  formatShape,
  type HostArrays,
  type HostTensor,
  hostArrayOf,
  MpError,
  tensor,
  type ValueType,
} from "@mp/graph";
import { storageOf } from "@mp/onnx-lowering";
import type { LossWatch } from "./device-loss.js";

const { storedType, stored, read } = storageOf({ device: "webgpu" });

/** A tensor in a GPU buffer. */
export interface GpuTensor extends ValueType {
  readonly buffer: GPUBuffer;
}

/** Copies move words of 4 bytes, and kernels read up to 16 bytes at once. */
const ALIGNMENT = 16;
const align = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** Largest buffer, in bytes, that several results are read through; a larger result gets its own. */
const READ_AT_ONCE = 2 ** 26;

/** The buffers of one device: allocates, reads and writes them, and counts their bytes. */
export class GpuMemory {
  readonly #device: GPUDevice;
  readonly #loss: LossWatch;
  #bytes = 0;

  constructor(device: GPUDevice, loss: LossWatch) {
    this.#device = device;
    this.#loss = loss;
  }

  /** Bytes of all buffers not yet released. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Allocates a tensor of zeros.
   * @throws MP_OUT_OF_MEMORY if it exceeds the device's limits; MP_BACKEND_FAILED if the device is lost
   */
  allocate({ dtype, shape }: ValueType): GpuTensor {
    this.#loss.expectAlive();
    const size = storedBytes({ dtype, shape });
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    const limit = Math.min(maxBufferSize, maxStorageBufferBindingSize);
    if (size > limit) {
      throw new MpError(
        "MP_OUT_OF_MEMORY",
        `ortWeb: a tensor ${dtype}${formatShape(shape)} takes ${size} bytes, and a buffer of this GPU at most ${limit}`,
        { details: { bytes: size, limit } },
      );
    }
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const buffer = this.#device.createBuffer({
      size: Math.max(align(size), ALIGNMENT),
      usage: STORAGE | COPY_SRC | COPY_DST,
    });
    this.#bytes += buffer.size;
    return { dtype, shape: [...shape], buffer };
  }

  /**
   * Runs work that allocates, and waits until the GPU has the memory.
   * @param undo releases what was allocated
   * @throws MP_OUT_OF_MEMORY if the GPU lacks the memory
   */
  async allocating<R>(work: () => R, undo: (made: R) => void = () => undefined): Promise<R> {
    this.#device.pushErrorScope("out-of-memory");
    let made: R;
    let shortage: Promise<GPUError | null> = Promise.resolve(null);
    try {
      made = work();
    } finally {
      shortage = this.#device.popErrorScope();
    }
    // Popping the scope fails only if the device is lost, which the next call reports.
    const error = await shortage.catch(() => null);
    if (error === null) return made;
    undo(made);
    throw new MpError("MP_OUT_OF_MEMORY", `ortWeb: the GPU has no more memory: ${error.message}`, {
      details: { heldBytes: this.#bytes },
    });
  }

  release({ buffer }: GpuTensor): void {
    this.#bytes -= buffer.size;
    buffer.destroy();
  }

  /**
   * Overwrites a tensor with a value of the same type; reads the array before it returns.
   * @throws MP_OUT_OF_RANGE for a number that the stored type does not hold
   */
  write({ buffer }: GpuTensor, value: HostTensor): void {
    this.#loss.expectAlive();
    const { data } = stored(value);
    if (data.byteLength === 0) return;
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const isWhole = bytes.length % 4 === 0 && data.buffer instanceof ArrayBuffer;
    this.#device.queue.writeBuffer(
      buffer,
      0,
      isWhole ? (bytes as Uint8Array<ArrayBuffer>) : wholeWords(bytes),
    );
  }

  /** Overwrites a tensor with another of the same type. */
  copy(from: GpuTensor, to: GpuTensor): void {
    this.#loss.expectAlive();
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(from.buffer, 0, to.buffer, 0, align(storedBytes(to)));
    this.#device.queue.submit([encoder.finish()]);
  }

  /** Copies tensors to the host, in the given order, as they are at the time of the call. */
  async read(tensors: readonly GpuTensor[]): Promise<readonly HostTensor[]> {
    const parts: GpuTensor[][] = [];
    let room = 0;
    for (const one of tensors) {
      const size = align(storedBytes(one));
      if (parts.length === 0 || size > room) {
        parts.push([]);
        room = READ_AT_ONCE;
      }
      parts.at(-1)?.push(one);
      room -= size;
    }
    const read = await Promise.all(parts.map((part) => this.#readAtOnce(part)));
    return read.flat();
  }

  /** Copies all tensors through one buffer, since waiting for the GPU takes the most time. */
  async #readAtOnce(tensors: readonly GpuTensor[]): Promise<readonly HostTensor[]> {
    this.#loss.expectAlive();
    const places: number[] = [];
    let size = 0;
    for (const one of tensors) {
      places.push(size);
      size += align(storedBytes(one));
    }
    if (size === 0) return tensors.map((one) => hostTensor(one, new ArrayBuffer(0)));
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const staging = this.#device.createBuffer({ size, usage: MAP_READ | COPY_DST });
    try {
      const encoder = this.#device.createCommandEncoder();
      tensors.forEach((one, index) => {
        const bytes = align(storedBytes(one));
        if (bytes > 0) encoder.copyBufferToBuffer(one.buffer, 0, staging, places[index] as number, bytes);
      });
      this.#device.queue.submit([encoder.finish()]);
      await this.#loss.orLost(staging.mapAsync(GPUMapMode.READ));
      const mapped = staging.getMappedRange();
      return tensors.map((one, index) => {
        const begin = places[index] as number;
        return hostTensor(one, mapped.slice(begin, begin + storedBytes(one)));
      });
    } finally {
      staging.destroy();
    }
  }
}

const storedBytes = (type: ValueType): number =>
  elementCount(type.shape, "tensor") * bytesPerElement[storedType(type).dtype];

function hostTensor(type: ValueType, bytes: ArrayBuffer): HostTensor {
  const { dtype, shape } = storedType(type);
  return read(tensor(new hostArrayOf[dtype](bytes) as HostArrays[DType], shape, dtype), type);
}

/** A copy padded with zeros to whole words, which is also not shared: some engines refuse shared memory. */
function wholeWords(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  copy.set(bytes);
  return copy;
}
