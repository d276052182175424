import {
  bytesPerElement,
  type DType,
  elementCount,
  formatShape,
  type HostArrays,
  type HostTensor,
  hostArrayOf,
  type Shape,
  tensor,
  type ValueType,
} from "@mp/graph";
import { type Ledger, NativeResource } from "@mp/graph/internal";
import type { Storage } from "@mp/onnx-lowering";
import { type EngineTensor, kernelBytes, rawBytes } from "@mp/onnx-lowering/program";
import koffi from "koffi";
import type { OpenVinoLibrary } from "./library.js";

/** The C interface's codes for dtypes, ov_element_type_e. */
const ELEMENT_TYPE: Readonly<Record<DType, number>> = {
  bool: 1,
  bf16: 2,
  f16: 3,
  f32: 4,
  i32: 9,
  i64: 10,
  u8: 16,
  u64: 19,
  f8e4m3: 21,
  f8e5m2: 22,
};

export interface TensorPlace {
  readonly library: OpenVinoLibrary;
  readonly ledger: Ledger;
  /** How models store values. */
  readonly storage: Storage;
  /** Another tensor whose memory holds this one; it is released after this one. */
  readonly within?: { readonly whole: NativeTensor; readonly offset: number };
}

/** A tensor in the library's memory, outside V8's heap. Its contents are undefined until written. */
export class NativeTensor extends NativeResource implements EngineTensor {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly byteLength: number;
  readonly #address: bigint;
  readonly #place: TensorPlace;
  /** The type that the model stores. */
  readonly #held: ValueType;
  #view: HostArrays[DType] | undefined;

  constructor(type: ValueType, place: TensorPlace) {
    const { library, ledger, storage, within } = place;
    const { functions, make } = library;
    const what = `tensor ${type.dtype}${formatShape(type.shape)}`;
    const held = storage.storedType(type);
    const byteLength = elementCount(type.shape, what) * bytesPerElement[held.dtype];
    const elementType = ELEMENT_TYPE[held.dtype];
    const shape = { rank: BigInt(held.shape.length), dims: BigInt64Array.from(held.shape, BigInt) };
    const handle = make(what, (out) =>
      within === undefined
        ? functions.ov_tensor_create(elementType, shape, out)
        : functions.ov_tensor_create_from_host_ptr(
            elementType,
            shape,
            within.whole.#address + BigInt(within.offset),
            out,
          ),
    );
    super(what, handle, ledger, within === undefined ? byteLength : 0);
    this.dtype = type.dtype;
    this.shape = Object.freeze([...type.shape]);
    this.byteLength = byteLength;
    this.#place = place;
    this.#held = held;
    this.#address = byteLength === 0 ? 0n : make(what, (out) => functions.ov_tensor_data(handle, out));
  }

  /** The tensor's memory, valid until its release, so never hand it to a user. @throws MP_DISPOSED after release */
  view(): HostArrays[DType] {
    this.assertUsable();
    // One view for the tensor's whole lifetime, because an engine may refuse a second ArrayBuffer over the same memory.
    this.#view ??= this.#newView();
    return this.#view;
  }

  /** Copies the tensor to the host. @throws MP_DISPOSED after release */
  download(): HostTensor {
    const { dtype, shape } = this.#held;
    const held = tensor(this.view().slice() as HostArrays[DType], shape, dtype);
    return this.#place.storage.read(held, this);
  }

  /**
   * Overwrites the tensor with a value of the same type.
   * @throws MP_DISPOSED after release
   * @throws MP_OUT_OF_RANGE for a number that the stored type does not hold
   */
  write(value: HostTensor): void {
    const held = this.#place.storage.stored(value);
    rawBytes(this.view()).set(kernelBytes(held));
  }

  /** Overwrites the tensor with another of the same type. @throws MP_DISPOSED if either is released */
  copyFrom(other: NativeTensor): void {
    rawBytes(this.view()).set(rawBytes(other.view()));
  }

  protected free(handle: bigint): void {
    this.#view = undefined;
    this.#place.library.functions.ov_tensor_free(handle);
  }

  #newView(): HostArrays[DType] {
    const arrayOf = hostArrayOf[this.#held.dtype];
    if (this.byteLength === 0) return new arrayOf(0);
    const { within } = this.#place;
    if (within === undefined) return new arrayOf(koffi.view(this.#address, this.byteLength));
    const { buffer, byteOffset } = within.whole.view();
    const count = this.byteLength / bytesPerElement[this.#held.dtype];
    return new arrayOf(buffer as ArrayBuffer, byteOffset + within.offset, count);
  }
}
