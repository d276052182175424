import type { HostTensor, ValueType } from "@mp/graph";
import type { Target } from "./lowerings/target.js";
import { lengthen, shorten, shortType } from "./webgpu/short-integers.js";

/** Storage of a graph's inputs and outputs in a device's session. */
export interface Storage {
  readonly storedType: (type: ValueType) => ValueType;
  /** Converts a tensor for a session. @throws MP_OUT_OF_RANGE for a number that the stored type does not hold */
  readonly stored: (value: HostTensor) => HostTensor;
  /** Converts a session's result back to the dtype that the graph declares. */
  readonly read: (value: HostTensor, type: ValueType) => HostTensor;
}

const asTheyAre: Storage = {
  storedType: (type) => type,
  stored: (value) => value,
  read: (value) => value,
};

const inShortIntegers: Storage = { storedType: shortType, stored: shorten, read: lengthen };

/** Storage of values in an engine: i64 is i32 on WebGPU and on engines that compute i64 in 32 bits. */
export const storageOf = ({ device, differences }: Pick<Target, "device" | "differences">): Storage =>
  device === "webgpu" || differences?.hasShortIntegers ? inShortIntegers : asTheyAre;
