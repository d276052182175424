import { codeOfElementType, elementTypeOfCode } from "./element-type.js";
import { refuse, unsupported } from "./problem.js";
import { type TensorProto, TensorProto_DataLocation } from "./proto/onnx_pb.js";
import { findSubstitute, type ReadAs, type SubstitutedType } from "./read-as.js";

type Numbers = readonly number[] | readonly bigint[];
type Typed = "doubleData" | "int32Data" | "uint64Data";

/** How the data of each type is stored: the field for numbers, and how to read raw bytes. */
const stored: Readonly<
  Record<
    SubstitutedType,
    {
      readonly field: Typed;
      readonly width: number;
      readonly at: (view: DataView, byte: number) => number;
      /** The range of the type; a field may hold integers outside of it, which are refused. */
      readonly bounds: readonly [least: number, largest: number];
    }
  >
> = {
  DOUBLE: {
    field: "doubleData",
    width: 8,
    at: (view, byte) => view.getFloat64(byte, true),
    bounds: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  },
  INT8: {
    field: "int32Data",
    width: 1,
    at: (view, byte) => view.getInt8(byte),
    bounds: [-(2 ** 7), 2 ** 7 - 1],
  },
  INT16: {
    field: "int32Data",
    width: 2,
    at: (view, byte) => view.getInt16(byte, true),
    bounds: [-(2 ** 15), 2 ** 15 - 1],
  },
  UINT16: {
    field: "int32Data",
    width: 2,
    at: (view, byte) => view.getUint16(byte, true),
    bounds: [0, 2 ** 16 - 1],
  },
  UINT32: {
    field: "uint64Data",
    width: 4,
    at: (view, byte) => view.getUint32(byte, true),
    bounds: [0, 2 ** 32 - 1],
  },
};

/**
 * Converts a tensor to its substitute type, if `readAs` has one for it.
 * @throws MP_UNSUPPORTED for a number that becomes infinite or 0 in the substitute
 */
export function substituteTensor(tensor: TensorProto, what: string, readAs: ReadAs): void {
  const type = elementTypeOfCode(tensor.dataType);
  const substitute = type === undefined ? undefined : findSubstitute(type, readAs);
  // Data in another file, which nobody reads, is refused with the tensor.
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
  const { field, width, at, bounds } = stored[type];
  const typed: Numbers = tensor[field];
  const raw = tensor.rawData;
  if (raw.length % width !== 0 || (raw.length > 0 && typed.length > 0))
    return refuse(
      "size-mismatch",
      `${what} is ${type} and has ${raw.length} raw bytes and ${typed.length} numbers`,
      {
        tensor: what,
      },
    );
  if (typed.length > 0) {
    const [least, largest] = bounds;
    return Array.from(typed, (number: number | bigint) => {
      const value = Number(number);
      if (value < least || value > largest)
        refuse("invalid-field", `${what} is ${type}, yet holds ${number}`, { tensor: what });
      return value;
    });
  }
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  return Array.from({ length: raw.length / width }, (_, index) => at(view, index * width));
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
