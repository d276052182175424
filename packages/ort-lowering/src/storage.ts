import type { HostTensor } from "@mp/core";
import type { ValueType } from "@mp/core/graph";
import type { Target } from "./lowerings/target.js";
import { packedType, relabeled, relabeledAs } from "./words/index.js";

/** The dtypes in which a session of a device holds inputs and outputs of a graph, bytes unchanged. */
export interface Storage {
  readonly storedType: (type: ValueType) => ValueType;
  /** The tensor as a session takes it, on the same memory. */
  readonly stored: (value: HostTensor) => HostTensor;
  /** Reads a session's result for a value of that type. */
  readonly read: (value: HostTensor, type: ValueType) => HostTensor;
}

const asTheyAre: Storage = {
  storedType: (type) => type,
  stored: (value) => value,
  read: (value) => value,
};

const storages: Readonly<Record<Target["device"], Storage>> = {
  cpu: asTheyAre,
  cuda: asTheyAre,
  webgpu: { storedType: packedType, stored: relabeled, read: relabeledAs },
};

/** How a device stores values: WebGPU has no 64-bit integers, they are i32 of shape [..., 2]. */
export const storageOf = ({ device }: Pick<Target, "device">): Storage => storages[device];
