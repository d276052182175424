/** Backends that are wrong in one narrow range: small squares, the ends of bf16, odd powers, rank 6, one element. */
import { floatFormats, type HostTensor, isHalf, type Op } from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import { changing, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const mapped = (x: HostTensor, f: (x: number, at: number) => number): HostTensor =>
  hostData(x.dtype, toNumbers(x).map(f), x.shape);

const among = (...ops: readonly Op[]): RegExp => new RegExp(`/(${ops.join("|")})-`);

/** Rounds f16 and bf16 between the product and its bias. */
const biasLast =
  <K extends "Gemm" | "ConvTranspose">(op: K): HostKernel<K> =>
  (operands, attributes) => {
    const [a, b, c] = dataOf(operands) as readonly [HostTensor, HostTensor, HostTensor?];
    if (c === undefined || !isHalf(a.dtype)) return evaluateNode(op, dataOf(operands), attributes);
    const beta = "beta" in attributes ? attributes.beta : 1;
    const product = evaluateNode(op, [a, b], attributes);
    const scaled = evaluateNode("Mul", [c, hostData(c.dtype, [beta], [])], {});
    const placed = op === "Gemm" ? scaled : evaluateNode("Reshape", scaled, { shape: [c.shape[0] ?? 1, 1] });
    return evaluateNode("Add", [...product, ...placed], {});
  };

/** Saturates at the end of bf16. */
const saturating = (op: Op) =>
  oracleWithKernels(
    changing([op], (result, inputs) =>
      result.dtype === "bf16" && inputs.every((x) => toNumbers(x).every(Number.isFinite))
        ? mapped(result, (x) =>
            Math.max(-floatFormats.bf16.maxFinite, Math.min(floatFormats.bf16.maxFinite, x)),
          )
        : result,
    ),
  );

/** Computes the root of a sum of squares that are rounded to f16. */
const narrowSquares: HostKernel<"ReduceL2"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  if (x.dtype !== "f16") return evaluateNode("ReduceL2", [x], attributes);
  const squares = evaluateNode("Mul", [x, x], {});
  return evaluateNode("Sqrt", evaluateNode("ReduceSum", squares, attributes), {});
};

/** Divides small f16 and bf16 numbers by the root of a mean of squares that is rounded to f16. */
const narrowMean: HostKernel<"RMSNormalization"> = (operands, attributes) => {
  const [x, scale] = dataOf(operands) as [HostTensor, HostTensor];
  const [result] = evaluateNode("RMSNormalization", [x, scale], attributes) as [HostTensor];
  const numbers = toNumbers(x);
  if (x.dtype !== "f16" || numbers.some((value) => Math.abs(value) > 2 ** -9)) return [result];
  const square = numbers.reduce((sum, value) => sum + value * value, 0) / numbers.length;
  const [rounded = 0] = toNumbers(hostData("f16", [square]));
  const factor = Math.sqrt((square + attributes.epsilon) / (rounded + attributes.epsilon));
  return [mapped(result, (value) => value * factor)];
};

export const narrowFaults: readonly WrongBackend[] = [
  ...(["Gemm", "ConvTranspose"] as const).map(
    (op): WrongBackend => ({
      fault: `${op} adds its bias after rounding`,
      factory: () => oracleWithKernels({ [op]: biasLast(op) }),
      axes: ["summation"],
      among: among(op),
      named: ["f16", "bf16"].map((half) => `summation/${op}-${half}/the-bias-is-added-before-rounding`),
      consequences: [/^summation/],
    }),
  ),
  ...(["MatMul", "Gemm", "Einsum", "Conv", "ReduceSum", "ReduceL1", "CumSum"] as const).map(
    (op): WrongBackend => ({
      fault: `${op} saturates in bf16`,
      factory: () => saturating(op),
      axes: ["rare"],
      among: among(op),
      named: [`rare/${op}-bf16/far-values`],
    }),
  ),
  {
    fault: "squares of small halves are rounded to f16",
    factory: () => oracleWithKernels({ ReduceL2: narrowSquares }),
    axes: ["rare"],
    among: among("ReduceL2"),
    named: ["rare/ReduceL2-f16/far-values"],
  },
  {
    fault: "RMS normalization rounds small means of squares to f16",
    factory: () => oracleWithKernels({ RMSNormalization: narrowMean }),
    axes: ["rare"],
    among: among("RMSNormalization"),
    named: ["rare/RMSNormalization-f16/far-values"],
    consequences: [/^rare\/RMSNormalization/],
  },
  ...(["Softmax", "LogSoftmax", "ReduceMean", "ReduceMax"] as const).map(
    (op): WrongBackend => ({
      fault: `${op} along an axis of one element does not read it`,
      factory: () =>
        oracleWithKernels(
          changing([op], (result, [x]) =>
            x?.shape.at(-1) === 1 ? mapped(result, (y) => (Number.isNaN(y) ? 1 : y)) : result,
          ),
        ),
      axes: ["reduce"],
      among: among(op),
      named: ["f32", "f16", "bf16"].map((dtype) => `reduce/${op}-${dtype}/nan-at-every-position`),
    }),
  ),
  {
    fault: "odd powers above 100 of negative numbers are positive",
    factory: () =>
      oracleWithKernels(
        changing(["Pow"], (result, [base, power]) => {
          const powers = power === undefined ? [] : toNumbers(power);
          return base?.shape.join() === power?.shape.join()
            ? mapped(result, (x, at) => ((powers[at] ?? 0) > 100 ? Math.abs(x) : x))
            : result;
        }),
      ),
    axes: ["op"],
    among: among("Pow"),
    named: ["op/Pow-f32/values"],
    consequences: [/^op\/Pow-/],
  },
  ...(["Transpose", "ReduceSum", "Concat", "Add"] as const).map(
    (op): WrongBackend => ({
      fault: `${op} of rank 6 is wrong`,
      factory: () =>
        oracleWithKernels(
          changing([op], (result, inputs) =>
            inputs.some(({ shape }) => shape.length === 6) ? mapped(result, (x) => x + 1) : result,
          ),
        ),
      axes: ["axis"],
      among: new RegExp(`/${op}-f32/`),
      named: [`axis/${op}-f32/${op === "ReduceSum" ? "every-set-of-axes" : "every-axis"}`],
      consequences: [/^axis/],
    }),
  ),
];
