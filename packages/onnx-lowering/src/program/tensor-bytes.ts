import type { HostTensor } from "@mp/graph";

/** The bytes of a host tensor as they lie in memory, without a copy. */
export function rawBytes({ buffer, byteOffset, byteLength }: HostTensor["data"]): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Bytes as kernels take them: to us any byte of a bool but 0 is true, but some kernels read a bool as a number. */
export function kernelBytes({ dtype, data }: HostTensor): Uint8Array {
  const bytes = rawBytes(data);
  return dtype !== "bool" || bytes.every((byte) => byte <= 1)
    ? bytes
    : bytes.map((byte) => Number(byte !== 0));
}
