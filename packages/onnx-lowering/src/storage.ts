import type { HostTensor, ValueType } from "@mp/graph";
import type { Target } from "./lowerings/target.js";
import { lengthen, shorten, shortType } from "./webgpu/short-integers.js";

/** The types in which a session of a device holds inputs and outputs of a graph. */
export interface Storage {
  readonly storedType: (type: ValueType) => ValueType;
  /** The tensor as a session takes it. @throws MP_OUT_OF_RANGE for a number that the stored type does not hold */
  readonly stored: (value: HostTensor) => HostTensor;
  /** Reads a session's result for a value of that type. */
  readonly read: (value: HostTensor, type: ValueType) => HostTensor;
}

const asTheyAre: Storage = {
  storedType: (type) => type,
  stored: (value) => value,
  read: (value) => value,
};

const inShortIntegers: Storage = { storedType: shortType, stored: shorten, read: lengthen };

const storages: Readonly<Record<Target["device"], Storage>> = {
  cpu: asTheyAre,
  cuda: asTheyAre,
  webgpu: inShortIntegers,
};

/** How an engine stores values: i64 is held as i32 on WebGPU, and wherever an engine computes it in 32 bits. */
export const storageOf = ({ device, differences }: Pick<Target, "device" | "differences">): Storage =>
  differences?.hasShortIntegers ? inShortIntegers : storages[device];
