import type { Shape } from "@mp/graph";
import type { OrtLibrary } from "./library.js";

/** A tensor's type in the engine's terms. */
export interface TensorLayout {
  /** ONNXTensorElementDataType. */
  readonly elementType: number;
  readonly dimensions: Shape;
}

/** Memory that someone else owns, at an address or in an array. It must outlive the tensor over it. */
export interface OwnedMemory {
  /** OrtMemoryInfo: the device and allocator of the memory. */
  readonly info: bigint;
  readonly data: bigint | Uint8Array;
  readonly byteLength: number;
}

/** Makes a tensor over memory that the engine does not own. */
export function tensorOver(
  { functions, make }: OrtLibrary,
  what: string,
  { info, data, byteLength }: OwnedMemory,
  { elementType, dimensions }: TensorLayout,
): bigint {
  const { sizes, rank } = nativeShape(dimensions);
  return make(what, (out) =>
    functions.CreateTensorWithDataAsOrtValue(info, data, byteLength, sizes, rank, elementType, out),
  );
}

/** Makes a tensor in new memory of an allocator. */
export function newTensor(
  { functions, make }: OrtLibrary,
  what: string,
  allocator: bigint,
  { elementType, dimensions }: TensorLayout,
): bigint {
  const { sizes, rank } = nativeShape(dimensions);
  return make(what, (out) => functions.CreateTensorAsOrtValue(allocator, sizes, rank, elementType, out));
}

function nativeShape(dimensions: Shape): { readonly sizes: BigInt64Array; readonly rank: number } {
  return { sizes: BigInt64Array.from(dimensions, BigInt), rank: dimensions.length };
}
