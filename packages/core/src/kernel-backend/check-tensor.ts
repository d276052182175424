import { hostArrayOf } from "../dtype.js";
import { MpError } from "../errors.js";
import { formatType } from "../graph/builder.js";
import type { ValueType } from "../graph/graph.js";
import { type HostTensor, isHostTensor } from "../host-tensor.js";
import { elementCount, formatShape, sameShape } from "../shape.js";
import { shown } from "../shown.js";

/** @throws MP_DTYPE_MISMATCH or MP_SHAPE_MISMATCH, naming what does not fit and both types */
export function expectType(what: string, given: ValueType, wanted: ValueType): void {
  if (given.dtype !== wanted.dtype) {
    throw new MpError(
      "MP_DTYPE_MISMATCH",
      `${what} is ${formatType(given)}, needs ${formatType(wanted)}; cast it on the host or in the graph`,
    );
  }
  if (!sameShape(given.shape, wanted.shape)) {
    throw new MpError("MP_SHAPE_MISMATCH", `${what} is ${formatType(given)}, needs ${formatType(wanted)}`);
  }
}

/**
 * Host data from a user's hands is what its type says: the right array class with as many elements as the shape has.
 * What comes back is what was checked, whatever the given object says when it is asked again.
 * @throws MP_INVALID_ARGUMENT, MP_DTYPE_MISMATCH, MP_SHAPE_MISMATCH
 */
export function expectHostTensor(what: string, value: unknown): HostTensor {
  if (!isHostTensor(value)) {
    throw new MpError("MP_INVALID_ARGUMENT", `${what} is no tensor; make one with tensor(data, shape)`);
  }
  const { dtype, data } = value;
  const shape = [...value.shape];
  if (!isHostTensor({ dtype, shape, data }) || data.constructor !== hostArrayOf[dtype]) {
    throw new MpError(
      "MP_DTYPE_MISMATCH",
      `${what} is ${dtype}, which is stored in ${hostArrayOf[dtype].name}, got ${data.constructor.name}`,
    );
  }
  if (elementCount(shape, what) !== data.length) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `${what} of shape ${formatShape(shape)} holds ${data.length} elements`,
    );
  }
  return { dtype, shape, data } as HostTensor;
}

/** Values by name. @throws MP_INVALID_ARGUMENT for what is no object of them */
export function expectNamed<V>(what: string, values: Readonly<Record<string, V>>): readonly [string, V][] {
  if (typeof values === "object" && values !== null && !Array.isArray(values)) return Object.entries(values);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `${what}: takes tensors by name, such as { x }, got ${shown(values)}`,
  );
}
