import { hostArrayOf } from "../dtype.js";
import { dtypeMismatch, invalid, shapeMismatch } from "../errors.js";
import { formatType } from "../graph/format-type.js";
import type { ValueType } from "../graph/graph.js";
import { type HostTensor, isHostTensor } from "../host/host-tensor.js";
import { elementCount, formatShape, sameShape } from "../shape.js";
import { shown } from "../shown.js";
import { classNameOf, storageFor } from "../typed-array.js";

/** @throws MP_DTYPE_MISMATCH or MP_SHAPE_MISMATCH, naming the value and both types */
export function expectType(what: string, given: ValueType, wanted: ValueType): void {
  if (given.dtype !== wanted.dtype) {
    throw dtypeMismatch(
      `${what} is ${formatType(given)}, needs ${formatType(wanted)}; cast it on the host or in the graph`,
    );
  }
  if (!sameShape(given.shape, wanted.shape)) {
    throw shapeMismatch(`${what} is ${formatType(given)}, needs ${formatType(wanted)}`);
  }
}

/**
 * Checks host data from a user: the right array class with as many elements as the shape has. Returns the values that
 * were checked, so that getters of the given object cannot change them later.
 * @throws MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH
 */
export function expectHostTensor(what: string, value: unknown): HostTensor {
  if (!isHostTensor(value)) {
    throw invalid(`${what} is no tensor; make one with tensor(data, shape)`);
  }
  const { dtype, data } = value;
  const shape = [...value.shape];
  const storage = isHostTensor({ dtype, shape, data }) ? storageFor(dtype, data) : undefined;
  if (storage === undefined) {
    throw dtypeMismatch(
      `${what} is ${dtype}, which is stored in ${hostArrayOf[dtype].name}, got ${classNameOf(data)}`,
    );
  }
  if (elementCount(shape, what) !== storage.length) {
    throw shapeMismatch(`${what} of shape ${formatShape(shape)} holds ${storage.length} elements`);
  }
  return { dtype, shape, data: storage } as HostTensor;
}

/** The entries of a record. @throws MP_INVALID_ARGUMENT if it is not an object */
export function expectNamed<V>(what: string, values: Readonly<Record<string, V>>): readonly [string, V][] {
  if (typeof values === "object" && values !== null && !Array.isArray(values)) return Object.entries(values);
  throw invalid(`${what}: takes tensors by name, such as { x }, got ${shown(values)}`);
}
