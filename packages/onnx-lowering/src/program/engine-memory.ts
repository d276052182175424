import type { HostTensor, ValueType } from "@mp/graph";

/** A tensor in memory of an engine. Its owner has to release it. */
export interface EngineTensor {
  readonly byteLength: number;
  /** Its own memory, for an engine that computes in the host's. */
  view(): HostTensor["data"];
  write(value: HostTensor): void;
  copyFrom(other: this): void;
  download(): HostTensor | Promise<HostTensor>;
  release(): void;
}

/** An engine's memory. */
export interface EngineMemory<T extends EngineTensor> {
  /** Whether the host reaches it. */
  readonly isOnHost: boolean;
  /** A tensor with undefined contents. */
  allocate(type: ValueType): T;
  /** Tensors in one piece of memory that is zeros, each aligned; for memory that the host reaches. */
  allocateAdjacent(types: readonly ValueType[]): { readonly whole: T; readonly parts: readonly T[] };
  upload(value: HostTensor): T;
  /** Rejects if an earlier write failed, for an engine that reports failures late. */
  expectSound(): Promise<void>;
}
