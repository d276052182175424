import { MpError } from "@mp/graph";

/** @throws MP_UNSUPPORTED on a big-endian machine, because a model's raw data is little-endian */
export function requireLittleEndian(): void {
  if (new Uint8Array(Uint16Array.of(1).buffer)[0] === 1) return;
  throw new MpError("MP_UNSUPPORTED", "onnx: raw data is little-endian, this machine is not");
}
