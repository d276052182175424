import type { HostTensor, ValueType } from "@mp/graph";

/** A tensor in an engine's memory. The owner has to release it. */
export interface EngineTensor {
  readonly byteLength: number;
  /** The tensor's own memory, for engines that compute in host memory. */
  view(): HostTensor["data"];
  write(value: HostTensor): void;
  copyFrom(other: this): void;
  download(): HostTensor | Promise<HostTensor>;
  release(): void;
}

/** Allocates tensors in an engine's memory. */
export interface EngineMemory<T extends EngineTensor> {
  /** Whether the host can access the memory. */
  readonly isOnHost: boolean;
  /** Allocates a tensor with undefined contents. */
  allocate(type: ValueType): T;
  /** Allocates tensors, each aligned, in one zeroed piece of host memory, `whole`. */
  allocateAdjacent(types: readonly ValueType[]): { readonly whole: T; readonly parts: readonly T[] };
  upload(value: HostTensor): T;
  /** Rejects if an earlier write failed; needed for engines that report failures late. */
  expectSound(): Promise<void>;
}
