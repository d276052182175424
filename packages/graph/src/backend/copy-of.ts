import type { HostTensor } from "../host/host-tensor.js";

/** The same values in a new array. */
export function copyTensor(tensor: HostTensor): HostTensor {
  return { ...tensor, data: tensor.data.slice() } as HostTensor;
}
