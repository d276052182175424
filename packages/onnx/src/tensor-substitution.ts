import { codeOfElementType, elementTypeOfCode } from "./element-type.js";
import { requireLittleEndian } from "./little-endian.js";
import { refuse, unsupported } from "./problem.js";
import { type TensorProto, TensorProto_DataLocation } from "./proto/onnx_pb.js";
import { findSubstitute, type ReadAs, type SubstitutedType } from "./read-as.js";

type Numbers = readonly number[] | readonly bigint[];

/** The field in which a message stores the numbers of each type, and the array class of the raw bytes. */
const stored = {
  DOUBLE: ["doubleData", Float64Array],
  INT8: ["int32Data", Int8Array],
  INT16: ["int32Data", Int16Array],
  UINT16: ["int32Data", Uint16Array],
  UINT32: ["uint64Data", Uint32Array],
} as const satisfies Readonly<Record<SubstitutedType, readonly unknown[]>>;

/**
 * Converts a tensor to its substitute type, if `readAs` has one for it.
 * @throws MP_UNSUPPORTED for a number that becomes infinite or 0 in the substitute
 */
export function substituteTensor(tensor: TensorProto, what: string, readAs: ReadAs): void {
  const type = elementTypeOfCode(tensor.dataType);
  const substitute = type === undefined ? undefined : findSubstitute(type, readAs);
  // `tensorFromProto` refuses data in another file that was not read.
  if (substitute === undefined || tensor.dataLocation === TensorProto_DataLocation.EXTERNAL) return;
  const numbers = readNumbers(tensor, type as SubstitutedType, what);
  const data =
    substitute === "f32"
      ? roundToF32(numbers, what)
      : substitute === "i32"
        ? Int32Array.from(numbers)
        : BigInt64Array.from(numbers, BigInt);
  tensor.dataType = codeOfElementType(substitute);
  tensor.rawData = new Uint8Array(data.buffer);
  tensor.doubleData = [];
  tensor.int32Data = [];
  tensor.uint64Data = [];
}

function readNumbers(tensor: TensorProto, type: SubstitutedType, what: string): readonly number[] {
  requireLittleEndian();
  const [field, StoredArray] = stored[type];
  const typed: Numbers = tensor[field];
  const raw = tensor.rawData;
  if (raw.length % StoredArray.BYTES_PER_ELEMENT !== 0 || (raw.length > 0 && typed.length > 0)) {
    const message = `${what} is ${type} and has ${raw.length} raw bytes and ${typed.length} numbers`;
    return refuse("size-mismatch", message, { tensor: what });
  }
  if (typed.length === 0) return Array.from(new StoredArray(new Uint8Array(raw).buffer));
  return Array.from(typed, (number: number | bigint) => {
    const value = Number(number);
    if (!Object.is(StoredArray.of(value)[0], value))
      refuse("invalid-field", `${what} is ${type}, yet holds ${number}`, { tensor: what });
    return value;
  });
}

function roundToF32(numbers: readonly number[], what: string): Float32Array {
  const data = Float32Array.from(numbers);
  const lost = numbers.findIndex(
    (number, index) =>
      number !== 0 && Number.isFinite(number) && (data[index] === 0 || !Number.isFinite(data[index])),
  );
  if (lost >= 0)
    unsupported(`${what} holds ${numbers[lost]}, which is ${data[lost]} in f32`, { tensor: what });
  return data;
}
