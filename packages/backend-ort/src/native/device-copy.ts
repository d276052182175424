import koffi from "koffi";
import { NativeBinding } from "./binding.js";
import { ONNX_ELEMENT_TYPE } from "./element-type.js";
import type { NativeSession } from "./session.js";
import type { DeviceCopier, DeviceTensor } from "./tensor.js";
import { newTensor, type TensorLayout, tensorOver } from "./tensor-over.js";

/** Bytes per copy. A copy needs as much additional memory on the host and on the device. */
const PIECE_BYTES = 64 * 1024 * 1024;

/**
 * Copies by running an Identity on the device, with input or output bound to host memory, because the C API has no copy
 * function that works for every provider. Parts of a buffer are copied by their addresses.
 */
export class IdentityCopier implements DeviceCopier {
  readonly #session: NativeSession;
  readonly #deviceInfo: bigint;
  readonly #hostAllocator: bigint;

  /** @param session runs `COPY_MODEL` on the device @param deviceInfo describes the device's memory */
  constructor(session: NativeSession, deviceInfo: bigint, hostAllocator: bigint) {
    this.#session = session;
    this.#deviceInfo = deviceInfo;
    this.#hostAllocator = hostAllocator;
  }

  write({ address }: DeviceTensor, bytes: Uint8Array): void {
    this.#inPieces(address, bytes, (piece, host, device, view) => {
      view.set(piece);
      this.#run(host, device);
    });
  }

  read({ address }: DeviceTensor, bytes: Uint8Array): void {
    this.#inPieces(address, bytes, (piece, host, device, view) => {
      this.#run(device, host);
      piece.set(view);
    });
  }

  #inPieces(
    address: bigint,
    bytes: Uint8Array,
    copy: (piece: Uint8Array, host: bigint, device: bigint, hostView: Uint8Array) => void,
  ): void {
    const { library } = this.#session;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      const { value: host, view } = this.#hostValue(piece.length);
      try {
        const data = address + BigInt(at);
        const memory = { info: this.#deviceInfo, data, byteLength: piece.length };
        const device = tensorOver(library, "copy", memory, byteLayout(piece.length));
        try {
          copy(piece, host, device, view);
        } finally {
          library.functions.ReleaseValue(device);
        }
      } finally {
        library.functions.ReleaseValue(host);
      }
    }
  }

  #run(from: bigint, to: bigint): void {
    const { functions, check } = this.#session.library;
    const binding = new NativeBinding(this.#session);
    try {
      check(functions.BindInput(binding.handle, "x", from), "copy");
      check(functions.BindOutput(binding.handle, "y", to), "copy");
      binding.runSync();
    } finally {
      binding.release();
    }
  }

  #hostValue(length: number): { readonly value: bigint; readonly view: Uint8Array } {
    const { library } = this.#session;
    const value = newTensor(library, "copy", this.#hostAllocator, byteLayout(length));
    const address = library.make("copy", (out) => library.functions.GetTensorMutableData(value, out));
    return { value, view: new Uint8Array(koffi.view(address, length)) };
  }
}

const byteLayout = (length: number): TensorLayout => ({
  elementType: ONNX_ELEMENT_TYPE.u8,
  dimensions: [length],
});
