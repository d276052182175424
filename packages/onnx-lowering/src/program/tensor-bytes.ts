import type { HostTensor } from "@mp/graph";

/** A view of a host tensor's bytes, without a copy. */
export function rawBytes({ buffer, byteOffset, byteLength }: HostTensor["data"]): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * Bytes for kernels, with bools as 0 or 1, since host tensors hold any nonzero byte for true, and some kernels only
 * take 1.
 */
export function kernelBytes({ dtype, data }: HostTensor): Uint8Array {
  const bytes = rawBytes(data);
  return dtype !== "bool" || bytes.every((byte) => byte <= 1)
    ? bytes
    : bytes.map((byte) => Number(byte !== 0));
}
