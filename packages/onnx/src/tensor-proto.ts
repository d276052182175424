import {
  bytesPerElement,
  type DType,
  type HostArrays,
  type HostTensor,
  hostArrayOf,
  tensor,
} from "@mp/graph";
import { elementTypeOfCode, isDType } from "./element-type.js";
import { requireLittleEndian } from "./little-endian.js";
import { refuse, unsupported } from "./problem.js";
import { type TensorProto, TensorProto_DataLocation } from "./proto/onnx_pb.js";
import { remedyFor } from "./read-as.js";

/**
 * Copies a tensor out of its message.
 * @throws MP_UNSUPPORTED for data in other files and for element types that graphs do not have
 * @throws MP_PARSE if data and declared type do not match
 */
export function tensorFromProto(proto: TensorProto, what: string): HostTensor {
  requireLittleEndian();
  if (proto.dataLocation === TensorProto_DataLocation.EXTERNAL || proto.externalData.length > 0) {
    unsupported(`${what} keeps its data in another file, save the model with its data inside`, {
      tensor: what,
    });
  }
  if (proto.segment !== undefined) unsupported(`${what} is split into segments`, { tensor: what });
  const type = elementTypeOfCode(proto.dataType);
  if (type === undefined) {
    return refuse("invalid-field", `${what} has element type ${proto.dataType}, which does not exist`, {
      tensor: what,
    });
  }
  if (!isDType(type)) {
    return unsupported(`${what} is ${type}, which has no counterpart here${remedyFor(type)}`, {
      tensor: what,
      type,
    });
  }
  const shape = decodeShape(proto.dims, what);
  const count = shape.reduce((product, size) => product * size, 1);
  if (!Number.isSafeInteger(count)) {
    refuse("invalid-field", `${what} of [${shape.join(", ")}] is too large`, { tensor: what });
  }
  const data = decodeData(proto, type, count, what);
  return tensor(data, shape, type) as HostTensor;
}

/** The largest rank that is read; no library allows more, and longer shapes would only flood messages. */
const MAX_RANK = 255;

/** @throws MP_PARSE for more than 255 dimensions */
export function expectRank(rank: number, what: string): void {
  if (rank > MAX_RANK)
    refuse("invalid-field", `${what} has ${rank} dimensions, at most ${MAX_RANK} are read`);
}

function decodeShape(dims: readonly bigint[], what: string): number[] {
  expectRank(dims.length, what);
  return dims.map((size) => dimension(size, what));
}

/** Converts a size to a number. @throws MP_PARSE for a size that is negative or above 2^53 - 1 */
export function dimension(size: bigint, what: string): number {
  if (size < 0n || size > BigInt(Number.MAX_SAFE_INTEGER)) {
    refuse("invalid-field", `${what} has a dimension of ${size}`, { tensor: what });
  }
  return Number(size);
}

type TypedField = "floatData" | "int32Data" | "int64Data" | "uint64Data";

const typedFieldOf: Readonly<Record<DType, TypedField>> = {
  f32: "floatData",
  f16: "int32Data",
  bf16: "int32Data",
  f8e4m3: "int32Data",
  f8e5m2: "int32Data",
  i32: "int32Data",
  i64: "int64Data",
  u64: "uint64Data",
  u8: "int32Data",
  bool: "int32Data",
};

const DATA_FIELDS = [
  "rawData", "floatData", "int32Data", "int64Data", "uint64Data", "doubleData", "stringData",
] as const; // biome-ignore format: one list

function decodeData(proto: TensorProto, dtype: DType, count: number, what: string): HostArrays[DType] {
  const field = typedFieldOf[dtype];
  const used = DATA_FIELDS.filter((name) => proto[name].length > 0);
  if (used.length > 1 || (used[0] !== undefined && used[0] !== "rawData" && used[0] !== field)) {
    refuse("size-mismatch", `${what} is ${dtype} and has ${used.join(" and ")}`, { tensor: what });
  }
  const isTyped = used[0] === field;
  const found = isTyped ? proto[field].length : proto.rawData.length;
  const wanted = isTyped ? count : count * bytesPerElement[dtype];
  if (found !== wanted) {
    refuse(
      "size-mismatch",
      `${what} holds ${count} elements of ${dtype}, ${wanted} ${isTyped ? "numbers" : "bytes"}, but has ${found}`,
      { tensor: what },
    );
  }
  const data = isTyped ? fromNumbers(proto[field], dtype, what) : fromRaw(proto.rawData, dtype);
  if (dtype === "bool" && data instanceof Uint8Array) {
    const index = data.findIndex((byte) => byte > 1);
    if (index >= 0) {
      refuse("invalid-field", `${what} is bool, yet element ${index} is ${data[index]}`, { tensor: what });
    }
  }
  return data;
}

/** Copies raw data, because it may be unaligned and is the caller's memory. */
function fromRaw(raw: Uint8Array, dtype: DType): HostArrays[DType] {
  const data = new hostArrayOf[dtype](raw.length / bytesPerElement[dtype]);
  new Uint8Array(data.buffer).set(raw);
  return data;
}

function fromNumbers(
  numbers: readonly number[] | readonly bigint[],
  dtype: DType,
  what: string,
): HostArrays[DType] {
  const data = new hostArrayOf[dtype](numbers.length);
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index] as number | bigint;
    data[index] = number;
    // Numbers that do not fit would wrap silently; f32 data is f32 on the wire already.
    if (dtype !== "f32" && data[index] !== number) {
      refuse("invalid-field", `${what} is ${dtype}, yet element ${index} is ${number}`, { tensor: what });
    }
  }
  return data;
}
