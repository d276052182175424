import type { HostTensor, ValueType } from "@mp/graph";
import type { TfjsBinding } from "../load/index.js";
import { emptyTensor, WireTensor, wireTensor } from "./wire-tensor.js";

/** A tensor in TensorFlow's memory. `wire` is undefined without elements; these tensors stay on the host. */
export interface Uploaded {
  readonly wire: WireTensor | undefined;
  /** Copies the tensor to the host. */
  read(): HostTensor;
}

export const upload = (binding: TfjsBinding, value: HostTensor): Uploaded =>
  value.data.length === 0 ? empty(value) : holding(wireTensor(binding, value));

/** Wraps a result tensor, given the id that a session returned. */
export const wrapResult = (binding: TfjsBinding, type: ValueType, id: number): Uploaded =>
  holding(new WireTensor(binding, type, id));

export const empty = (type: ValueType): Uploaded => ({ wire: undefined, read: () => emptyTensor(type) });

const holding = (wire: WireTensor): Uploaded => ({ wire, read: () => wire.read() });
