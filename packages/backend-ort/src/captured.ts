import { type HostTensor, tensor } from "@mp/core";
import type { Turns } from "./native/index.js";

/** The current contents of the caller's array: itself if it is read at once, a copy if it is read in a later turn. */
export function captured(turns: Turns, value: HostTensor): HostTensor {
  return turns.isFree ? value : tensor(value.data.slice() as HostTensor["data"], value.shape, value.dtype);
}

export const allCaptured = (
  turns: Turns,
  values: Readonly<Record<string, HostTensor>>,
): Readonly<Record<string, HostTensor>> =>
  turns.isFree
    ? values
    : Object.fromEntries(Object.entries(values).map(([name, value]) => [name, captured(turns, value)]));
