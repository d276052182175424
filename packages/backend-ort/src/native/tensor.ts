import { type DType, type HostTensor, MpError, type Shape, tensor } from "@mp/core";
import {
  bytesPerElement,
  elementCount,
  formatShape,
  type HostArrays,
  hostArrayOf,
  sameShape,
  type ValueType,
} from "@mp/core/graph";
import koffi from "koffi";
import { ONNX_ELEMENT_TYPE } from "./element-type.js";
import type { OrtLibrary } from "./library.js";
import { type Ledger, NativeResource } from "./resource.js";

/** Where tensors live: the OrtAllocator that allocates them and, where the host cannot reach its memory, the copier. */
export interface TensorPlace {
  readonly allocator: bigint;
  readonly copier?: DeviceCopier;
}

/** Moves bytes between the host and an address on the device; returns when they have arrived. */
export interface DeviceCopier {
  write(address: bigint, bytes: Uint8Array): void;
  read(address: bigint, bytes: Uint8Array): void;
}

/** A tensor in ORT's own aligned memory, outside V8's heap. Its contents are undefined until written. */
export class NativeTensor extends NativeResource {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly byteLength: number;
  /** Address of the first element; on the device for a device tensor. */
  readonly address: bigint;
  readonly #library: OrtLibrary;
  readonly #copier: DeviceCopier | undefined;
  #view: HostArrays[DType] | undefined;

  constructor(library: OrtLibrary, ledger: Ledger, type: ValueType, place: TensorPlace) {
    const what = describe(type);
    const byteLength = elementCount(type.shape, what) * bytesPerElement[type.dtype];
    const handle = allocate(library, type, place.allocator, what);
    super(what, handle, ledger, byteLength);
    this.dtype = type.dtype;
    this.shape = Object.freeze([...type.shape]);
    this.byteLength = byteLength;
    this.address = library.make(what, (out) => library.functions.GetTensorMutableData(handle, out));
    this.#library = library;
    this.#copier = place.copier;
  }

  get isOnDevice(): boolean {
    return this.#copier !== undefined;
  }

  /**
   * The tensor's own memory as a typed array, without a copy. It must not outlive the tensor, since after
   * release it points at freed memory: never hand it to a user.
   * @throws MP_DISPOSED after release
   * @throws MP_INVALID_ARGUMENT for a device tensor
   */
  view(): HostArrays[DType] {
    this.assertUsable();
    if (this.#copier !== undefined) {
      throw new MpError("MP_INVALID_ARGUMENT", `${describe(this)}: is on a device, read it instead`);
    }
    // One view for the tensor's whole lifetime: an engine may refuse a second ArrayBuffer over the same memory.
    this.#view ??= viewOf(this);
    return this.#view;
  }

  /** A copy on the host. @throws MP_DISPOSED after release */
  read(): HostTensor {
    if (this.#copier === undefined) {
      return tensor(this.view().slice() as HostArrays[DType], this.shape, this.dtype);
    }
    this.assertUsable();
    const bytes = new Uint8Array(this.byteLength);
    this.#copier.read(this.address, bytes);
    return tensor(new hostArrayOf[this.dtype](bytes.buffer), this.shape, this.dtype);
  }

  /**
   * Overwrites all of it.
   * @throws MP_DISPOSED after release
   * @throws MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH when the value is of another type
   */
  write(value: HostTensor): void {
    this.assertUsable();
    checkFits(this, value);
    const bytes = value.dtype === "bool" ? zeroOrOne(value.data) : bytesOf(value.data);
    if (this.#copier === undefined) bytesOf(this.view()).set(bytes);
    else this.#copier.write(this.address, bytes);
  }

  /** Overwrites all of it with a tensor of the same type. @throws MP_DISPOSED after either's release */
  copyFrom(other: NativeTensor): void {
    if (this.isOnDevice || other.isOnDevice) {
      this.write(other.read());
      return;
    }
    checkFits(this, other);
    bytesOf(this.view()).set(bytesOf(other.view()));
  }

  protected free(handle: bigint): void {
    this.#view = undefined;
    this.#library.functions.ReleaseValue(handle);
  }
}

function describe(type: ValueType): string {
  return `tensor ${type.dtype}${formatShape(type.shape)}`;
}

function allocate(library: OrtLibrary, type: ValueType, allocator: bigint, what: string): bigint {
  const dimensions = BigInt64Array.from(type.shape, BigInt);
  return library.make(what, (out) =>
    library.functions.CreateTensorAsOrtValue(
      allocator,
      dimensions,
      dimensions.length,
      ONNX_ELEMENT_TYPE[type.dtype],
      out,
    ),
  );
}

function viewOf({ dtype, address, byteLength }: NativeTensor): HostArrays[DType] {
  const arrayOf = hostArrayOf[dtype];
  return byteLength === 0 ? new arrayOf(0) : new arrayOf(koffi.view(address, byteLength));
}

function bytesOf(data: HostArrays[DType]): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** For us any byte but 0 is true; kernels that read a bool as a number rely on 1. */
function zeroOrOne(data: Uint8Array): Uint8Array {
  return data.every((byte) => byte <= 1) ? data : data.map((byte) => (byte === 0 ? 0 : 1));
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
