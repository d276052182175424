/** Replacements for float operators whose kernels lose NaN, infinities, signs of zeros or subnormals. */
import { type ComputeDType, isComputeFloat, type Op } from "@mp/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import { byMagnitude, ERROR_FUNCTION, odd } from "../lowerings/accurate-functions.js";
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

/** Makes the result of a form NaN wherever the form's first operand is NaN. */
const keepingNaN =
  (form: Form = (operands, _writer, kernel) => kernel(operands)): Form =>
  (operands, writer, kernel, node) => {
    const [x = ""] = operands;
    return where(writer, writer.one("IsNaN", [x]), x, form(operands, writer, kernel, node));
  };

/**
 * Computes a form for bf16 in f32, because the bf16 kernels compute in f32 and so lose the same values as the f32
 * kernels. For f16, whose range is small, the kernel is right.
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

/** x + (-y); the kernel computes x + (-1 · y + 0), which loses the sign of zeros. */
const difference: Form = ([x = "", y = ""], writer) => writer.one("Add", [x, writer.one("Neg", [y])]);

/** |1 · x|, where the hidden factor 1 keeps the optimizer from moving Abs before a Concat that other nodes read too. */
const magnitude: Form = ([x = ""], writer, kernel, { dtype }) =>
  kernel([writer.one("Mul", [x, writer.scalar(1, dtype)])]);

/** Compares with both infinities, because an optimizer confuses the infinities of |x| with those of x. */
const isInfinite: Form = ([x = ""], writer, _kernel, { dtype }) => {
  const equals = (value: number): string => writer.one("Equal", [x, writer.scalar(value, dtype)]);
  return writer.one("Or", [equals(Number.POSITIVE_INFINITY), equals(Number.NEGATIVE_INFINITY)]);
};

const integerMagnitude: Replacement = ({ inputs: [x = ""], dtypes: [dtype] }, writer) =>
  dtype === "i32"
    ? [where(writer, writer.one("Less", [x, writer.scalar(0, dtype)]), writer.one("Neg", [x]), x)]
    : undefined;

/** The result, or NaN where x is NaN, by a Max that keeps its second operand's NaN. Requires result ≥ x. */
const orNaN = (result: string, x: string, kernel: Kernel): string => kernel([result, x], "Max");

const relu: Form = ([x = ""], _writer, kernel) => orNaN(kernel([x]), x, kernel);

/** Clips by comparisons and selections. A comparison with NaN is false and so selects NaN. */
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
 * The smaller or larger operand, or NaN if one is NaN. The kernel keeps only its second operand's NaN, and an optimizer
 * moves scalars there. So a comparison replaces the kernel, unless one operand is not a scalar and is never NaN.
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

/** Swaps the operands and uses the opposite comparison, whose kernel alone gives false for NaN. */
const opposite =
  (comparison: "Less" | "LessOrEqual"): Form =>
  ([x = "", y = ""], _writer, kernel) =>
    kernel([y, x], comparison);

/** Bounds between which the Exp kernel's error is at most a tenth of an ulp. */
const NEAR = [-45.25, 43.375] as const;

/** e^near · e^(x - near), where near is x clipped to `NEAR`, since the kernel loses subnormals and overflows early. */
const exponential: Form = ([x = ""], writer, kernel, { dtype, ranges: [range] }) => {
  if (range !== undefined && range.most <= NEAR[1]) return orNaN(kernel([x]), x, kernel);
  const bounds = NEAR.map((bound) => writer.scalar(bound, dtype));
  const near = kernel([x, ...bounds], "Clip");
  const far = kernel([writer.one("Sub", [x, near])]);
  return orNaN(writer.one("Mul", [kernel([near]), far]), x, kernel);
};

/** Coefficients 2 / (2n + 1) of 2 · artanh(u / (2 + u)), which is log(1 + u). */
const LOG_OF_SUM = [1, 3, 5, 7, 9, 11, 13, 15].map((divisor) => 2 / divisor);

/** max(x, 0) + log(1 + e^-|x|). */
const softplus: Form = ([x = ""], writer, _kernel, { dtype }) => {
  const u = writer.one("Exp", [writer.one("Neg", [writer.one("Abs", [x])])]);
  const ratio = writer.one("Div", [u, writer.one("Add", [u, writer.scalar(2, dtype)])]);
  return writer.one("Add", [writer.one("Relu", [x]), odd(ratio, LOG_OF_SUM, writer)]);
};

/** erf(x), a polynomial where |x| < 0.75, because the kernel's absolute error is no smaller there than elsewhere. */
const errorFunction: Form = ([x = ""], writer, kernel) =>
  byMagnitude(x, 0.75, [odd(x, ERROR_FUNCTION, writer), kernel([x])], writer);

/** x/2 · (1 + erf(x/√2)), because the kernel doubles x, which may overflow, and loses infinity. */
const gelu: Form = ([x = ""], writer, kernel, { dtype, attributes: { approximate } }) => {
  if (approximate?.kind === "string" && approximate.value === "tanh") return kernel([x]);
  const times = (factor: number): string => writer.one("Mul", [x, writer.scalar(factor, dtype)]);
  const share = writer.one("Add", [kernel([times(Math.SQRT1_2)], "Erf"), writer.scalar(1, dtype)]);
  return writer.one("Mul", [times(0.5), share]);
};

/** Restores infinities and NaN in ReduceMax and ReduceMin, whose kernels start from a finite number. */
const mostOfMany =
  (op: "ReduceMax" | "ReduceMin", worst: number): Replacement =>
  ({ inputs: [x = "", axes], dtypes: [dtype] }, writer, kernel) => {
    if (dtype === undefined || !isComputeFloat(dtype)) return undefined;
    const number = (value: number): string => writer.scalar(value, "f32");
    // NaN has the mark that wins, the worst value the mark that loses, all other values 1.
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

/** Reduces along the softmax axis, by default the last one, and keeps the axis. */
const alongAxis = (
  op: "ReduceMax" | "ReduceSum",
  name: string,
  [writer, kernel, { axis }]: readonly [NodeWriter, Kernel, Emission["attributes"]],
): string =>
  kernel([name, writer.ints([axis?.kind === "int" ? Number(axis.value) : -1])], op, { keepdims: int(1) });

/** 0 for finite elements, NaN for infinities and NaN. */
const zeroOrNaN = (name: string, writer: NodeWriter, dtype: ComputeDType): string =>
  writer.one("Mul", [name, writer.scalar(0, dtype)]);

/** Adds 0 · (sum of the row) to each row of the result, so that one NaN in a row makes the whole row NaN. */
const softmax: Form = ([x = ""], writer, kernel, { dtype, attributes }) => {
  const result = kernel([x]);
  const sum = alongAxis("ReduceSum", result, [writer, kernel, attributes]);
  return writer.one("Add", [result, zeroOrNaN(sum, writer, dtype)]);
};

/** x - max - log Σ e^(x - max). Adding 0 · Σ makes a row NaN if an element is NaN or +∞, or if all are -∞. */
const logSoftmax: Form = ([x = ""], writer, kernel, { dtype, attributes }) => {
  const wide = writer.cast(x, "f32");
  const along = (op: "ReduceMax" | "ReduceSum", name: string): string =>
    alongAxis(op, name, [writer, kernel, attributes]);
  const below = writer.one("Sub", [wide, along("ReduceMax", wide)]);
  const sum = along("ReduceSum", kernel([below], "Exp"));
  const logarithm = writer.one("Add", [writer.one("Log", [sum]), zeroOrNaN(sum, writer, "f32")]);
  return writer.cast(writer.one("Sub", [below, logarithm]), dtype);
};

/** Forms by operator name; these names are the same in ONNX and in graphs. */
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

/** The forms of the operators that the probe found to differ. */
export const floatForms = (differing: ReadonlySet<string>): Replacements =>
  Object.fromEntries([...differing].map((op) => [op, forms[op] ?? ofFloats(keepingNaN())]));
