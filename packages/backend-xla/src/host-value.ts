import type { HostTensor } from "@mp/graph";
import type { DeviceBuffer } from "./pjrt/index.js";

/** A value that waits on the host: a small input, which goes to the device along with others, or a result. */
export class HostValue {
  readonly tensor: HostTensor;

  constructor(tensor: HostTensor) {
    this.tensor = tensor;
  }
}

/** What a handle or an input of a run is. */
export type Stored = DeviceBuffer | HostValue;

export const copyOf = ({ dtype, shape, data }: HostTensor): HostTensor =>
  ({ dtype, shape: [...shape], data: data.slice() }) as HostTensor;
