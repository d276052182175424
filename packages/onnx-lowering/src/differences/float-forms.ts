/** Forms of operators on floats whose kernels lose NaN, infinities, signs of zeros or subnormal numbers. */
import { type ComputeDType, isComputeFloat, type Op } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { byMagnitude, ERROR_FUNCTION, odd } from "../lowerings/functions.js";
import type { Kernel, Replacement, Replacements } from "../replacing/kernel-writer.js";
import type { Emission } from "../replacing/known-types.js";

type Form = (
  operands: readonly string[],
  writer: NodeWriter,
  kernel: Kernel,
  node: { readonly dtype: ComputeDType } & Pick<Emission, "attributes" | "ranges" | "shapes">,
) => string;

const ofFloats =
  (form: Form): Replacement =>
  ({ inputs, attributes, ranges, shapes, dtypes: [dtype] }, writer, kernel) =>
    dtype !== undefined && isComputeFloat(dtype)
      ? [form(inputs, writer, kernel, { dtype, attributes, ranges, shapes })]
      : undefined;

const where = (writer: NodeWriter, ...parts: readonly [string, string, string]): string =>
  writer.one("Where", parts);

/** Puts NaN back. */
const keepingNaN =
  (form: Form = (operands, _writer, kernel) => kernel(operands)): Form =>
  (operands, writer, kernel, node) => {
    const [x = ""] = operands;
    return where(writer, writer.one("IsNaN", [x]), x, form(operands, writer, kernel, node));
  };

/**
 * Computes bf16 in f32: it has the range of f32, and kernels that compute it in f32 lose the same numbers. The kernel is
 * right for f16, whose range is short.
 */
const inF32 =
  (form: Form): Form =>
  (operands, writer, kernel, node) => {
    if (node.dtype === "f32") return form(operands, writer, kernel, node);
    if (node.dtype === "f16") return kernel(operands);
    const wide = operands.map((name) => writer.cast(name, "f32"));
    return writer.cast(form(wide, writer, kernel, { ...node, dtype: "f32" }), node.dtype);
  };

const negative: Form = ([x = ""], writer, _kernel, { dtype }) =>
  writer.one("Mul", [x, writer.scalar(-1, dtype)]);

/** The kernel computes x + (-1 · y + 0), which loses signs of zeros. */
const difference: Form = ([x = "", y = ""], writer) => writer.one("Add", [x, writer.one("Neg", [y])]);

/** An optimizer moves Abs before a Concat, for all that read the Concat; it does not see that the factor is 1. */
const magnitude: Form = ([x = ""], writer, kernel, { dtype }) =>
  kernel([writer.one("Mul", [x, writer.scalar(1, dtype)])]);

/** An optimizer takes the infinities of |x| for those of x, of one sign only. */
const isInfinite: Form = ([x = ""], writer, _kernel, { dtype }) => {
  const equals = (value: number): string => writer.one("Equal", [x, writer.scalar(value, dtype)]);
  return writer.one("Or", [equals(Number.POSITIVE_INFINITY), equals(Number.NEGATIVE_INFINITY)]);
};

const integerMagnitude: Replacement = ({ inputs: [x = ""], dtypes: [dtype] }, writer) =>
  dtype === "i32"
    ? [where(writer, writer.one("Less", [x, writer.scalar(0, dtype)]), writer.one("Neg", [x]), x)]
    : undefined;

/** The result, or x where x is NaN: Max keeps NaN of its second operand. Needs result ≥ x. */
const orNaN = (result: string, x: string, kernel: Kernel): string => kernel([result, x], "Max");

const relu: Form = ([x = ""], _writer, kernel) => orNaN(kernel([x]), x, kernel);

/** A comparison with NaN is false, which selects NaN. */
const clip: Form = ([x = "", ...bounds], writer, kernel, { ranges: [range] }) => {
  if (range?.isNumber) return kernel([x, ...bounds]);
  return (["Less", "Greater"] as const).reduce((value, comparison, index) => {
    const bound = bounds[index] ?? "";
    if (bound === "") return value;
    return where(writer, writer.one(comparison, [value, bound]), bound, value);
  }, x);
};

const leakyRelu: Form = ([x = ""], writer, _kernel, { dtype, attributes: { alpha } }) => {
  const slope = writer.scalar(alpha?.kind === "float" ? alpha.value : 0.01, dtype);
  return where(writer, writer.one("Less", [x, writer.scalar(0, dtype)]), writer.one("Mul", [x, slope]), x);
};

/**
 * The first operand where it is further or NaN; otherwise the second. The kernel keeps NaN of its second operand, but an
 * optimizer moves a scalar there.
 */
const further =
  (comparison: "Less" | "Greater"): Form =>
  ([a = "", b = ""], writer, kernel, { ranges, shapes }) => {
    const isNumber = (index: number): boolean =>
      ranges[index]?.isNumber === true && shapes[index]?.length !== 0;
    if (isNumber(0)) return kernel([a, b]);
    if (isNumber(1)) return kernel([b, a]);
    const isFirst = writer.one("Or", [writer.one(comparison, [a, b]), writer.one("IsNaN", [a])]);
    return where(writer, isFirst, a, b);
  };

/** The kernel is true for NaN; that of the opposite comparison is not. */
const opposite =
  (comparison: "Less" | "LessOrEqual"): Form =>
  ([x = "", y = ""], _writer, kernel) =>
    kernel([y, x], comparison);

/** Between these exponents the kernel is used alone; its powers of the two are within a tenth of an ulp. */
const NEAR = [-45.25, 43.375] as const;

/** e^near · e^(x - near): the kernel has no subnormal results, and overflows early. For most x the second factor is 1. */
const exponential: Form = ([x = ""], writer, kernel, { dtype, ranges: [range] }) => {
  if (range !== undefined && range.most <= NEAR[1]) return orNaN(kernel([x]), x, kernel);
  const bounds = NEAR.map((bound) => writer.scalar(bound, dtype));
  const near = kernel([x, ...bounds], "Clip");
  const far = kernel([writer.one("Sub", [x, near])]);
  return orNaN(writer.one("Mul", [kernel([near]), far]), x, kernel);
};

/** log(1 + u) as 2 · artanh(u / (2 + u)): 1/(2n + 1), doubled. */
const LOG_OF_SUM = [1, 3, 5, 7, 9, 11, 13, 15].map((divisor) => 2 / divisor);

/** max(x, 0) + log(1 + e^-|x|). */
const softplus: Form = ([x = ""], writer, _kernel, { dtype }) => {
  const u = writer.one("Exp", [writer.one("Neg", [writer.one("Abs", [x])])]);
  const ratio = writer.one("Div", [u, writer.one("Add", [u, writer.scalar(2, dtype)])]);
  return writer.one("Add", [writer.one("Relu", [x]), odd(ratio, LOG_OF_SUM, writer)]);
};

/** The kernel's error near 0 is that of larger numbers. */
const errorFunction: Form = ([x = ""], writer, kernel) =>
  byMagnitude(x, 0.75, [odd(x, ERROR_FUNCTION, writer), kernel([x])], writer);

/** x/2 · (1 + erf(x/√2)): the kernel doubles x, which may overflow, and loses infinity. */
const gelu: Form = ([x = ""], writer, kernel, { dtype, attributes: { approximate } }) => {
  if (approximate?.kind === "string" && approximate.value === "tanh") return kernel([x]);
  const times = (factor: number): string => writer.one("Mul", [x, writer.scalar(factor, dtype)]);
  const share = writer.one("Add", [kernel([times(Math.SQRT1_2)], "Erf"), writer.scalar(1, dtype)]);
  return writer.one("Mul", [times(0.5), share]);
};

/** The kernel starts from the lowest finite number. */
const mostOfMany =
  (op: "ReduceMax" | "ReduceMin", worst: number): Replacement =>
  ({ inputs: [x = "", axes], dtypes: [dtype] }, writer, kernel) => {
    if (dtype === undefined || !isComputeFloat(dtype)) return undefined;
    const number = (value: number): string => writer.scalar(value, "f32");
    // 1 marks other numbers: NaN wins against them, the worst number loses.
    const [nan, none] = op === "ReduceMax" ? [2, 0] : [0, 2];
    const isWorst = writer.one("Equal", [x, writer.scalar(worst, dtype)]);
    const marks = where(
      writer,
      writer.one("IsNaN", [x]),
      number(nan),
      where(writer, isWorst, number(none), number(1)),
    );
    const along = axes === undefined ? [] : [axes];
    const mark = kernel([marks, ...along]);
    const most = where(
      writer,
      writer.one("Equal", [mark, number(none)]),
      writer.scalar(worst, dtype),
      kernel([x, ...along]),
    );
    return [where(writer, writer.one("Equal", [mark, number(nan)]), writer.scalar(Number.NaN, dtype), most)];
  };

/** Reduces along the axis of the node. */
const alongAxis = (
  op: "ReduceMax" | "ReduceSum",
  name: string,
  [writer, kernel, { axis }]: readonly [NodeWriter, Kernel, Emission["attributes"]],
): string =>
  kernel([name, writer.ints([axis?.kind === "int" ? Number(axis.value) : -1])], op, { keepdims: int(1) });

/** 0, or NaN if the number is infinite or NaN. */
const zeroOrNaN = (name: string, writer: NodeWriter, dtype: ComputeDType): string =>
  writer.one("Mul", [name, writer.scalar(0, dtype)]);

/** NaN in the whole row if the kernel has any in it. */
const softmax: Form = ([x = ""], writer, kernel, { dtype, attributes }) => {
  const result = kernel([x]);
  const sum = alongAxis("ReduceSum", result, [writer, kernel, attributes]);
  return writer.one("Add", [result, zeroOrNaN(sum, writer, dtype)]);
};

/** x - max - log Σ e^(x - max), as the kernel does: the sum is infinite if any number is NaN or infinite. */
const logSoftmax: Form = ([x = ""], writer, kernel, { dtype, attributes }) => {
  const wide = writer.cast(x, "f32");
  const along = (op: "ReduceMax" | "ReduceSum", name: string): string =>
    alongAxis(op, name, [writer, kernel, attributes]);
  const below = writer.one("Sub", [wide, along("ReduceMax", wide)]);
  const sum = along("ReduceSum", kernel([below], "Exp"));
  const logarithm = writer.one("Add", [writer.one("Log", [sum]), zeroOrNaN(sum, writer, "f32")]);
  return writer.cast(writer.one("Sub", [below, logarithm]), dtype);
};

/** Forms by operator, which has one name in ONNX and in the graph. */
const forms: Replacements = {
  Neg: ofFloats(negative),
  Sub: ofFloats(difference),
  Abs: (emission, writer, kernel) =>
    ofFloats(magnitude)(emission, writer, kernel) ?? integerMagnitude(emission, writer, kernel),
  IsInf: ofFloats(isInfinite),
  Relu: ofFloats(relu),
  Clip: ofFloats(clip),
  LeakyRelu: ofFloats(leakyRelu),
  Min: ofFloats(further("Less")),
  Max: ofFloats(further("Greater")),
  Greater: ofFloats(opposite("Less")),
  GreaterOrEqual: ofFloats(opposite("LessOrEqual")),
  Exp: ofFloats(inF32(exponential)),
  Softplus: ofFloats(inF32(softplus)),
  Gelu: ofFloats(inF32(gelu)),
  Erf: ofFloats(keepingNaN(inF32(errorFunction))),
  ReduceMax: mostOfMany("ReduceMax", Number.NEGATIVE_INFINITY),
  ReduceMin: mostOfMany("ReduceMin", Number.POSITIVE_INFINITY),
  Softmax: ofFloats(softmax),
  LogSoftmax: ofFloats(logSoftmax),
};

export const FORMED_OPS: readonly Op[] = Object.keys(forms) as readonly Op[];

/** Forms of the operators that the probe found to differ. */
export const floatForms = (differing: ReadonlySet<string>): Replacements =>
  Object.fromEntries([...differing].map((op) => [op, forms[op] ?? ofFloats(keepingNaN())]));
