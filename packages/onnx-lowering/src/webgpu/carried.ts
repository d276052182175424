/**
 * Computes bools and bytes in other dtypes, because few of the provider's kernels take them. To be moved, bools and
 * bytes become f32, which holds them exactly and which every kernel takes. For arithmetic, bytes become i32.
 */
import type { DType } from "@mp/graph";
import type { Replacement, Replacements } from "../replacing/kernel-writer.js";

const isSmall = (dtype: DType | undefined): dtype is "bool" | "u8" => dtype === "bool" || dtype === "u8";

/** Moves bools and bytes as f32. @param moved indices of the inputs that are moved; default all */
const moveInF32 =
  (opType: string, moved?: readonly number[]): Replacement =>
  ({ inputs, attributes, options, dtypes }, writer) => {
    const [dtype] = dtypes;
    if (!isSmall(dtype)) return undefined;
    const isMoved = (index: number): boolean => moved === undefined || moved.includes(index);
    const wide = inputs.map((name, index) =>
      isMoved(index) && name !== "" ? writer.cast(name, "f32") : name,
    );
    return writer.emit(opType, wide, attributes, options).map((name) => writer.cast(name, dtype));
  };

/** Writes an Identity as two casts. */
const identity: Replacement = ({ inputs: [x = ""], dtypes: [dtype] }, writer) =>
  isSmall(dtype) ? [writer.cast(writer.cast(x, "f32"), dtype)] : undefined;

const MOVED: Readonly<Record<string, readonly number[] | undefined>> = {
  Transpose: [0],
  Slice: [0],
  Concat: undefined,
  Split: [0],
  GatherElements: [0],
  GatherND: [0],
  ScatterElements: [0, 2],
  ScatterND: [0, 2],
  Pad: [0, 2],
  Squeeze: [0],
  Unsqueeze: [0],
  Tile: [0],
  Expand: [0],
};

/** Computes ops on bytes in i32. Results of the operands' dtype (`isOfDType`) wrap and become bytes again. */
const inI32 =
  (opType: string, isOfDType: boolean): Replacement =>
  ({ inputs, attributes, options, dtypes }, writer) => {
    if (!dtypes.includes("u8")) return undefined;
    const wide = inputs.map((name, index) => (dtypes[index] === "u8" ? writer.cast(name, "i32") : name));
    const results = writer.emit(opType, wide, attributes, options);
    if (!isOfDType) return results;
    const byte = writer.scalar(256, "i32");
    return results.map((name) => writer.cast(writer.one("Mod", [name, byte]), "u8"));
  };

const COMPUTED = [
  "Add",
  "Sub",
  "Mul",
  "Div",
  "Mod",
  "Min",
  "Max",
  "Where",
  "Clip",
  "Abs",
  "ReduceMax",
  "ReduceMin",
];
const COMPARED = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "ArgMax", "ArgMin"];

export const carried: Replacements = {
  Identity: identity,
  ...Object.fromEntries(Object.entries(MOVED).map(([op, moved]) => [op, moveInF32(op, moved)])),
  ...Object.fromEntries(COMPUTED.map((op) => [op, inI32(op, true)])),
  ...Object.fromEntries(COMPARED.map((op) => [op, inI32(op, false)])),
};
