import {
  bytesPerElement,
  type DType,
  elementCount,
  formatShape,
  type HostArrays,
  type HostTensor,
  hostArrayOf,
  MpError,
  type Shape,
  sameShape,
  tensor,
  type ValueType,
} from "@mp/graph";
import { type Ledger, NativeResource } from "@mp/graph/internal";
import type { Storage } from "@mp/onnx-lowering";
import { kernelBytes, rawBytes } from "@mp/onnx-lowering/program";
import koffi from "koffi";
import { DEFAULT_MEMORY, DEVICE_ALLOCATOR } from "./allocator.js";
import { ONNX_ELEMENT_TYPE } from "./element-type.js";
import type { OrtLibrary } from "./library.js";
import { newTensor, type TensorLayout, tensorOver } from "./tensor-over.js";

/** Where tensors get their memory. */
export interface TensorPlace {
  /** The OrtAllocator. */
  readonly allocator: bigint;
  /** Copies from and to memory that the host cannot access. */
  readonly copier?: DeviceCopier;
  /** Another host tensor that contains this one at byte `offset`; it must be released after this one. */
  readonly within?: { readonly whole: NativeTensor; readonly offset: number };
  /** How the device stores values, if not in their own dtypes. */
  readonly storage?: Storage;
}

export type DeviceTensor = Pick<NativeTensor, "handle" | "address" | "byteLength" | "layout">;

/** Copies whole tensors between the host and a device. Calls return when the bytes have arrived. */
export interface DeviceCopier {
  write(target: DeviceTensor, bytes: Uint8Array): void;
  read(source: DeviceTensor, bytes: Uint8Array): void;
  /** Reads without blocking this thread; if absent, `read` is used. */
  download?(source: DeviceTensor, bytes: Uint8Array): Promise<void>;
  /** Whether the device has executed everything since the last call. */
  isSound?(): Promise<boolean>;
  /** Copies between two tensors on the device; if absent, the bytes go through the host. */
  move?(source: DeviceTensor, target: DeviceTensor): void;
}

/** A tensor in ORT's own aligned memory, outside V8's heap. Its contents are undefined until written. */
export class NativeTensor extends NativeResource {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly byteLength: number;
  readonly layout: TensorLayout;
  /** Address of the first element, in device memory for a device tensor. */
  readonly address: bigint;
  readonly #library: OrtLibrary;
  readonly #copier: DeviceCopier | undefined;
  readonly #storage: Storage | undefined;
  readonly #within: TensorPlace["within"];
  #view: HostArrays[DType] | undefined;

  constructor(library: OrtLibrary, ledger: Ledger, type: ValueType, place: TensorPlace) {
    const what = describe(type);
    const held = place.storage?.storedType(type) ?? type;
    const byteLength = elementCount(type.shape, what) * bytesPerElement[held.dtype];
    const layout = { elementType: ONNX_ELEMENT_TYPE[held.dtype], dimensions: held.shape };
    const { within, allocator } = place;
    const handle =
      within === undefined
        ? newTensor(library, what, allocator, layout)
        : tensorWithin(library, within, byteLength, layout);
    super(what, handle, ledger, within === undefined ? byteLength : 0);
    this.dtype = type.dtype;
    this.shape = Object.freeze([...type.shape]);
    this.byteLength = byteLength;
    this.layout = layout;
    this.address = library.make(what, (out) => library.functions.GetTensorMutableData(handle, out));
    this.#library = library;
    this.#copier = place.copier;
    this.#storage = place.storage;
    this.#within = within;
  }

  get isOnDevice(): boolean {
    return this.#copier !== undefined;
  }

  /**
   * The tensor's own memory as a typed array, without a copy. It must not outlive the tensor, because after release
   * it points at freed memory: never hand it to a user.
   * @throws MP_DISPOSED after release
   * @throws MP_INVALID_ARGUMENT for a device tensor
   */
  view(): HostArrays[DType] {
    this.assertUsable();
    if (this.#copier !== undefined) {
      throw new MpError("MP_INVALID_ARGUMENT", `${describe(this)}: is on a device, read it instead`);
    }
    // One view for the tensor's whole lifetime, because an engine may refuse a second ArrayBuffer over the same memory.
    this.#view ??= this.#newView();
    return this.#view;
  }

  #newView(): HostArrays[DType] {
    const arrayOf = hostArrayOf[this.dtype];
    if (this.#within !== undefined) {
      const { buffer, byteOffset } = this.#within.whole.view();
      const count = this.byteLength / bytesPerElement[this.dtype];
      return new arrayOf(buffer as ArrayBuffer, byteOffset + this.#within.offset, count);
    }
    return this.byteLength === 0 ? new arrayOf(0) : new arrayOf(koffi.view(this.address, this.byteLength));
  }

  /** Copies the tensor to the host. @throws MP_DISPOSED after release */
  read(): HostTensor {
    if (this.#copier === undefined) {
      return tensor(this.view().slice() as HostArrays[DType], this.shape, this.dtype);
    }
    this.assertUsable();
    const bytes = new Uint8Array(this.byteLength);
    this.#copier.read(this, bytes);
    return this.#onHost(bytes);
  }

  /** Copies to the host; a promise if that waits for a device. @throws MP_DISPOSED after release */
  download(): HostTensor | Promise<HostTensor> {
    if (this.#copier?.download === undefined) return this.read();
    this.assertUsable();
    const bytes = new Uint8Array(this.byteLength);
    return this.#copier.download(this, bytes).then(() => this.#onHost(bytes));
  }

  #onHost(bytes: Uint8Array<ArrayBuffer>): HostTensor {
    const { dtype, shape } = this.#storage?.storedType(this) ?? this;
    const held = tensor(new hostArrayOf[dtype](bytes.buffer) as HostArrays[DType], shape, dtype);
    return this.#storage?.read(held, this) ?? held;
  }

  /**
   * Overwrites the tensor.
   * @throws MP_DISPOSED after release
   * @throws MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH if the value has another type
   * @throws MP_OUT_OF_RANGE for a number that the stored type does not hold
   */
  write(value: HostTensor): void {
    this.assertUsable();
    checkFits(this, value);
    const held = this.#storage?.stored(value) ?? value;
    const bytes = kernelBytes(held);
    if (this.#copier === undefined) rawBytes(this.view()).set(bytes);
    else this.#copier.write(this, bytes);
  }

  /** Overwrites the tensor with another of the same type. @throws MP_DISPOSED if either is released */
  copyFrom(other: NativeTensor): void {
    if (this.isOnDevice || other.isOnDevice) {
      const move = this.isOnDevice && other.isOnDevice ? this.#copier?.move : undefined;
      if (move === undefined) {
        this.write(other.read());
        return;
      }
      this.assertUsable();
      checkFits(this, other);
      move.call(this.#copier, other, this);
      return;
    }
    checkFits(this, other);
    rawBytes(this.view()).set(rawBytes(other.view()));
  }

  protected free(handle: bigint): void {
    this.#view = undefined;
    this.#library.functions.ReleaseValue(handle);
  }
}

function describe(type: ValueType): string {
  return `tensor ${type.dtype}${formatShape(type.shape)}`;
}

function tensorWithin(
  library: OrtLibrary,
  { whole, offset }: NonNullable<TensorPlace["within"]>,
  byteLength: number,
  layout: TensorLayout,
): bigint {
  const { functions, borrow } = library;
  const data = whole.address + BigInt(offset);
  return borrow(
    "memory",
    (out) => functions.CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, out),
    functions.ReleaseMemoryInfo,
    (info) => tensorOver(library, "part", { info, data, byteLength }, layout),
  );
}

function checkFits(target: NativeTensor, value: ValueType): void {
  if (value.dtype !== target.dtype) {
    throw new MpError(
      "MP_DTYPE_MISMATCH",
      `write: ${describe(target)} takes ${target.dtype}, got ${value.dtype}`,
    );
  }
  if (!sameShape(value.shape, target.shape)) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `write: ${describe(target)} takes ${formatShape(target.shape)}, got ${formatShape(value.shape)}`,
    );
  }
}
