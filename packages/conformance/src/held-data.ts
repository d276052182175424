/** Helpers of the aliasing cases: arrays that are fed, returned, overwritten and compared again. */
import { type HostTensor, hostArrayOf } from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import { fail } from "./expectations.js";

const viewBytes = ({ data }: HostTensor): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** Overwrites a tensor's array, as its owner may at any time. */
export function overwrite(tensor: HostTensor | undefined): void {
  if (tensor !== undefined) viewBytes(tensor).fill(0x5a);
}

/** Writes the values of another tensor of the same type into the tensor's array. */
export function refill(tensor: HostTensor, by: HostTensor): void {
  viewBytes(tensor).set(viewBytes(by));
}

/** Whether two tensors of one type hold the same bits. */
export function sameBits(a: HostTensor, b: HostTensor): boolean {
  return sameBytes(a.data, b.data);
}

/** @throws if the bits of the caller's array have changed */
export function expectUntouched(tensor: HostTensor, before: HostTensor, what: string): void {
  if (!sameBits(tensor, before)) fail(`${what}, an array of the caller's, was written to`);
}

/** A tensor in the middle of a larger array, and the elements around it. */
export interface Embedded {
  readonly tensor: HostTensor;
  /** @throws if an element outside the tensor has changed */
  readonly expectSurroundings: (what: string) => void;
}

/** Copies a tensor into a larger array, `before` elements from its beginning. */
export function embed({ dtype, shape, data }: HostTensor, before: number, after: number): Embedded {
  const whole = new hostArrayOf[dtype](before + data.length + after);
  const bytes = new Uint8Array(whole.buffer);
  bytes.fill(dtype === "bool" ? 1 : 0x3c);
  const part = whole.subarray(before, before + data.length);
  const tensor = { dtype, shape, data: part } as HostTensor;
  refill(tensor, { dtype, shape, data } as HostTensor);
  const kept = bytes.slice();
  const inside = (at: number): boolean => at >= part.byteOffset && at < part.byteOffset + part.byteLength;
  return {
    tensor,
    expectSurroundings: (what) => {
      const at = bytes.findIndex((byte, index) => byte !== kept[index] && !inside(index));
      if (at >= 0) fail(`${what} writes beside the part of the caller's array that it was given`);
    },
  };
}
