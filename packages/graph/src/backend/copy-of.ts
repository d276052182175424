import type { HostTensor } from "../host/host-tensor.js";

/** Copies a tensor, elements included. */
export function copyTensor(tensor: HostTensor): HostTensor {
  return { ...tensor, data: tensor.data.slice() } as HostTensor;
}
