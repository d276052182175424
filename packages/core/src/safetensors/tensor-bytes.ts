import type { DType, HostArrays } from "../dtype.js";
import { MpError } from "../errors.js";
import { type HostTensor, tensor } from "../host-tensor.js";
import type { Shape } from "../shape.js";
import { quote, refuse } from "./problem.js";

const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

function requireLittleEndian(): void {
  if (littleEndian) return;
  throw new MpError("MP_UNSUPPORTED", "safetensors: files are little-endian, this machine is not");
}

/**
 * The bytes of a tensor's data, shared, not copied.
 * @throws MP_UNSUPPORTED on a big-endian machine
 */
export function bytesOfTensor(data: HostTensor["data"]): Uint8Array {
  requireLittleEndian();
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** Index of the first byte that is neither 0 nor 1, or -1. */
export function findNonBool(bytes: Uint8Array): number {
  return bytes.findIndex((byte) => byte > 1);
}

/**
 * A tensor on storage that was filled from a file, which therefore must be the caller's to give away.
 * @throws MP_PARSE for a BOOL element other than 0 and 1
 */
export function tensorFromFile(
  name: string,
  dtype: DType,
  shape: Shape,
  data: HostArrays[DType],
): HostTensor {
  requireLittleEndian();
  const index = data instanceof Uint8Array && dtype === "bool" ? findNonBool(data) : -1;
  if (index >= 0) {
    refuse("invalid-bool", `tensor ${quote(name)} is BOOL, yet element ${index} is ${data[index]}`, {
      tensor: name,
      index,
    });
  }
  return tensor(data, shape, dtype) as HostTensor;
}
