/** Facts about the names in one model: a lowering's writer is given names only. */
import { type DType, OPS, opTable, type Shape, sameShape } from "@mp/graph";
import type { EmitOptions, OnnxAttributes } from "@mp/onnx/write";

export interface KnownType {
  readonly dtype: DType;
  /** Undefined where only the engine infers it. */
  readonly shape: Shape | undefined;
  /** Undefined where nothing is known. */
  readonly range?: Range | undefined;
}

/** Magnitudes of the values of a tensor in f32. */
export interface Range {
  /** No element is larger, except for NaN. */
  readonly most: number;
  /** No element is NaN. */
  readonly isNumber: boolean;
}

/** A node that a lowering emits, before it is known whether the device has a kernel for it. */
export interface Emission {
  readonly inputs: readonly string[];
  readonly attributes: OnnxAttributes;
  readonly options: EmitOptions;
  /** Dtypes of the inputs. Undefined where a dtype is not known, of an input that is left out for example. */
  readonly dtypes: readonly (DType | undefined)[];
  /** Shapes of the inputs. */
  readonly shapes: readonly (Shape | undefined)[];
  /** Ranges of the inputs. */
  readonly ranges: readonly (Range | undefined)[];
}

/** ONNX's numbers for the dtypes that Cast makes here. */
const DTYPE_OF_CODE: ReadonlyMap<bigint, DType> = new Map([
  [1n, "f32"],
  [2n, "u8"],
  [6n, "i32"],
  [7n, "i64"],
  [9n, "bool"],
  [10n, "f16"],
  [16n, "bf16"],
]);

const BOOLS: ReadonlySet<string> = new Set(OPS.filter((op) => opTable[op].result === "bool"));
const INDICES: ReadonlySet<string> = new Set(["ArgMax", "ArgMin", "Shape", "NonZero"]);

/** The dtypes of a node's outputs. */
function resultDTypes(
  opType: string,
  { dtypes, attributes, options }: Emission,
): readonly (DType | undefined)[] {
  const [first] = dtypes;
  const { outputs = 1 } = options;
  if (BOOLS.has(opType)) return ["bool"];
  if (INDICES.has(opType)) return ["i64"];
  if (opType === "TopK" || opType === "MaxPool") return [first, "i64"];
  if (opType === "Where") return [dtypes[1]];
  if (opType === "OneHot") return [dtypes[2]];
  const { to, value } = attributes;
  if (opType === "Cast" && to?.kind === "int") return [DTYPE_OF_CODE.get(BigInt(to.value))];
  if (opType === "Constant" && value?.kind === "tensor") return [value.value.dtype];
  return Array.from({ length: outputs }, () => first);
}

const ELEMENTWISE: ReadonlySet<string> = new Set([
  ...BOOLS,
  "Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Where",
  "Abs", "Neg", "Floor", "Sqrt", "Reciprocal", "Exp", "Log", "Cast",
]); // biome-ignore format: one list

/** The shape that all have, beside scalars. Undefined where one is not known or the shapes differ. */
export function commonShape(shapes: readonly (Shape | undefined)[]): Shape | undefined {
  return shapes.reduce<Shape | undefined>((common, shape) => {
    if (common === undefined || shape === undefined) return undefined;
    if (shape.length === 0) return common;
    return common.length === 0 || sameShape(common, shape) ? shape : undefined;
  }, []);
}

/** The largest magnitude of a result by those of its operands; NaN and infinity say nothing. */
const MOST: Readonly<Record<string, (...most: readonly number[]) => number>> = {
  Add: (a = 0, b = 0) => a + b,
  Sub: (a = 0, b = 0) => a + b,
  Mul: (a = 0, b = 0) => a * b,
  Min: Math.max,
  Max: Math.max,
  Clip: (_, ...bounds) => (bounds.length === 2 ? Math.max(...bounds) : Number.NaN),
  Floor: (a = 0) => Math.ceil(a),
};

/** The range of what is cast from a dtype; each other one goes beyond some float or has NaN. */
export const rangeOfCast = (from: DType | undefined): Range | undefined =>
  from === "u8" ? { most: 255, isNumber: true } : undefined;

/** Far from where sums and products of f32 overflow. */
const LARGEST = 2 ** 100;

/** The range of one number; of halves nothing is known, whose data are bits. */
export const rangeOfScalar = (value: number, dtype: DType): Range | undefined =>
  dtype === "f32" && Number.isFinite(value) ? { most: Math.abs(value), isNumber: true } : undefined;

function resultRange(opType: string, { dtypes: [dtype], ranges, attributes }: Emission): Range | undefined {
  if (opType === "Cast") return rangeOfCast(dtype);
  const { value } = attributes;
  if (opType === "Constant" && value?.kind === "tensor" && value.value.shape.length === 0)
    return rangeOfScalar(Number(value.value.data[0]), value.value.dtype);
  if (dtype !== "f32") return undefined;
  const most = MOST[opType]?.(...ranges.map((range) => range?.most ?? Number.NaN)) ?? Number.NaN;
  return most <= LARGEST ? { most, isNumber: ranges.every((range) => range?.isNumber) } : undefined;
}

/** The types of a node's outputs, as far as they are known. */
export function resultTypes(opType: string, emission: Emission): readonly (KnownType | undefined)[] {
  const shape = ELEMENTWISE.has(opType) ? commonShape(emission.shapes) : undefined;
  const range = resultRange(opType, emission);
  return resultDTypes(opType, emission).map((dtype) =>
    dtype === undefined ? undefined : { dtype, shape, range },
  );
}
