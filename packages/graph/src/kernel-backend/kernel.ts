import type { Stored } from "../backend/storages.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import type { ValueType } from "../graph/graph.js";

/** An operand as a kernel sees it: its type, and the storage that the backend's author chose. */
export type KernelTensor<T> = Stored<T>;

/**
 * Computes one operator: returns the storages of the outputs, in order, from operands, attributes and the outputs'
 * types, all of which have been checked. Operands are read-only. An output may be an operand's storage (a reshape
 * needs no copy): storages are reference-counted by identity and released after their last use. Two outputs that are
 * views of one buffer need two storage objects and a `release` that handles this. `Kernel<unknown, T>` fits every op.
 */
export type Kernel<Attributes, T> = (
  inputs: readonly KernelTensor<T>[],
  attributes: Attributes,
  outputs: readonly ValueType[],
) => readonly T[] | Promise<readonly T[]>;

/** Kernels by operator. An operator without a kernel is unsupported, unless it has a default kernel. */
export type KernelTable<T> = { readonly [K in Op]?: Kernel<OpAttributes[K], T> };
