import type { HostTensor } from "../host/host-tensor.js";

/** A tensor with elements of its own. */
export function copyTensor(tensor: HostTensor): HostTensor {
  return { ...tensor, data: tensor.data.slice() } as HostTensor;
}
