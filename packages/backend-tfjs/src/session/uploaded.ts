import type { HostTensor, ValueType } from "@mp/graph";
import type { TfjsBinding } from "../load/index.js";
import { emptyTensor, WireTensor, wireTensor } from "./wire-tensor.js";

/** A tensor in TensorFlow's memory. One without elements is not transferred: there is nothing of it. */
export interface Uploaded {
  readonly wire: WireTensor | undefined;
  /** A copy on the host. */
  read(): HostTensor;
}

export const upload = (binding: TfjsBinding, value: HostTensor): Uploaded =>
  value.data.length === 0 ? empty(value) : holding(wireTensor(binding, value));

/** The tensor with that number, which a session gave. */
export const wrapResult = (binding: TfjsBinding, type: ValueType, id: number): Uploaded =>
  holding(new WireTensor(binding, type, id));

export const empty = (type: ValueType): Uploaded => ({ wire: undefined, read: () => emptyTensor(type) });

const holding = (wire: WireTensor): Uploaded => ({ wire, read: () => wire.read() });
