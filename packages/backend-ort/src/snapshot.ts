import { type HostTensor, tensor } from "@mp/graph";
import type { Turns } from "./native/index.js";

/** The caller's array as it is now: the array itself if it is read at once, or a copy if a later turn reads it. */
export function snapshot(turns: Turns, value: HostTensor): HostTensor {
  return turns.isFree ? value : tensor(value.data.slice() as HostTensor["data"], value.shape, value.dtype);
}

/** `snapshot` of each tensor. */
export const snapshotAll = (
  turns: Turns,
  values: Readonly<Record<string, HostTensor>>,
): Readonly<Record<string, HostTensor>> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, snapshot(turns, value)]));
