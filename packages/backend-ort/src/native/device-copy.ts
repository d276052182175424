import koffi from "koffi";
import { NativeBinding } from "./binding.js";
import { ONNX_ELEMENT_TYPE } from "./element-type.js";
import type { NativeSession } from "./session.js";
import type { DeviceCopier, DeviceTensor } from "./tensor.js";

/** Limits the memory that a copy needs besides the tensors: one piece on the host, one on the device. */
const PIECE_BYTES = 64 * 1024 * 1024;

/**
 * Copies by running an identity on the device, with its input or output bound to the host: the C API has no function
 * that copies for every provider, but a binding does. It takes parts of a buffer by their addresses.
 */
export class IdentityCopier implements DeviceCopier {
  readonly #session: NativeSession;
  readonly #deviceInfo: bigint;
  readonly #hostAllocator: bigint;

  /** `session` runs `COPY_MODEL` on the device whose memory `deviceInfo` describes. */
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
    const { functions } = this.#session.library;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      const { value: host, view } = this.#hostValue(piece.length);
      try {
        const device = this.#deviceValue(address + BigInt(at), piece.length);
        try {
          copy(piece, host, device, view);
        } finally {
          functions.ReleaseValue(device);
        }
      } finally {
        functions.ReleaseValue(host);
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
    const { functions, make } = this.#session.library;
    const value = make("copy", (out) =>
      functions.CreateTensorAsOrtValue(
        this.#hostAllocator,
        BigInt64Array.of(BigInt(length)),
        1,
        ONNX_ELEMENT_TYPE.u8,
        out,
      ),
    );
    const address = make("copy", (out) => functions.GetTensorMutableData(value, out));
    return { value, view: new Uint8Array(koffi.view(address, length)) };
  }

  #deviceValue(address: bigint, length: number): bigint {
    const { functions, make } = this.#session.library;
    const dimensions = BigInt64Array.of(BigInt(length));
    return make("copy", (out) =>
      functions.CreateTensorWithDataAsOrtValue(
        this.#deviceInfo,
        address,
        length,
        dimensions,
        1,
        ONNX_ELEMENT_TYPE.u8,
        out,
      ),
    );
  }
}
