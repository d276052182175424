import type { DType, HostTensor } from "@mp/core";
import type { TfjsBinding } from "./load/index.js";
import { copyOf, type WireTensor, wireTensor } from "./session/wire-tensor.js";

/** The tensor of a handle: in TensorFlow's memory, or on the host where it has no elements. */
export interface Uploaded {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly wire: WireTensor | undefined;
  /** A copy on the host. */
  read(): HostTensor;
}

export function uploaded(binding: TfjsBinding, value: HostTensor): Uploaded {
  const { dtype } = value;
  const shape = Object.freeze([...value.shape]);
  if (value.data.length === 0) {
    const empty = copyOf(value);
    return { dtype, shape, wire: undefined, read: () => copyOf(empty) };
  }
  const wire = wireTensor(binding, value);
  return { dtype, shape, wire, read: () => wire.read() };
}
