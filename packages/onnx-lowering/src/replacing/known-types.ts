/** Collects facts about the names in a model, because a lowering's writer is given only names. */
import { type DType, OPS, opTable, type Shape, sameShape } from "@mp/graph";
import type { EmitOptions, OnnxAttributes } from "@mp/onnx/write";

export interface KnownType {
  readonly dtype: DType;
  /** Undefined if only the engine can infer it. */
  readonly shape: Shape | undefined;
  /** Undefined if no bound can be derived. */
  readonly range?: Range | undefined;
}

/** Bounds on an f32 tensor's elements. */
export interface Range {
  /** Largest magnitude of any element that is not NaN. */
  readonly most: number;
  /** True if no element can be NaN. */
  readonly isNumber: boolean;
}

/** A node that a lowering emits and that may still be replaced. */
export interface Emission {
  readonly inputs: readonly string[];
  readonly attributes: OnnxAttributes;
  readonly options: EmitOptions;
  /** Dtypes of the inputs; undefined if not known, for example for an omitted input. */
  readonly dtypes: readonly (DType | undefined)[];
  readonly shapes: readonly (Shape | undefined)[];
  readonly ranges: readonly (Range | undefined)[];
}

/** The dtypes to which these lowerings cast, by ONNX's element type code. */
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

/** The common shape of all operands that are not scalars. Undefined if a shape is not known or shapes differ. */
export function commonShape(shapes: readonly (Shape | undefined)[]): Shape | undefined {
  return shapes.reduce<Shape | undefined>((common, shape) => {
    if (common === undefined || shape === undefined) return undefined;
    if (shape.length === 0) return common;
    return common.length === 0 || sameShape(common, shape) ? shape : undefined;
  }, []);
}

/** Bounds the magnitude of a result by the bounds of its operands, for each operator; NaN means unknown. */
const MOST: Readonly<Record<string, (...most: readonly number[]) => number>> = {
  Add: (a = 0, b = 0) => a + b,
  Sub: (a = 0, b = 0) => a + b,
  Mul: (a = 0, b = 0) => a * b,
  Min: Math.max,
  Max: Math.max,
  Clip: (_, ...bounds) => (bounds.length === 2 ? Math.max(...bounds) : Number.NaN),
  Floor: (a = 0) => Math.ceil(a),
};

/** The range of the result of a cast; known only for u8, whose values every float dtype holds. */
export const rangeOfCast = (from: DType | undefined): Range | undefined =>
  from === "u8" ? { most: 255, isNumber: true } : undefined;

/** Larger bounds count as unknown, so that bounded values are far from overflowing f32. */
const LARGEST = 2 ** 100;

/** The range of a constant; undefined unless it is a finite f32 (for half dtypes, `value` holds bits). */
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

/** The types of a node's outputs, undefined where not known. */
export function resultTypes(opType: string, emission: Emission): readonly (KnownType | undefined)[] {
  const shape = ELEMENTWISE.has(opType) ? commonShape(emission.shapes) : undefined;
  const range = resultRange(opType, emission);
  return resultDTypes(opType, emission).map((dtype) =>
    dtype === undefined ? undefined : { dtype, shape, range },
  );
}
