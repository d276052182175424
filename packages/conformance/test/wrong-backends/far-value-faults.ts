/** Backends that are right for ordinary numbers, and wrong where functions overflow, round or get NaN. */
import { floatFormats, type HostTensor, type Op } from "@mp/graph";
import { generate, hostData, toNumbers } from "../../src/host-data.js";
import { afterwards, beforehand, changing, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const mapped = (x: HostTensor, f: (x: number, at: number) => number): HostTensor =>
  hostData(x.dtype, toNumbers(x).map(f), x.shape);

/** Limits the operands to a range. */
const limited = (op: Op, limit: number) =>
  oracleWithKernels({
    [op]: beforehand(op, ([x, ...rest]) =>
      x === undefined ? [] : [mapped(x, (y) => Math.max(-limit, Math.min(limit, y))), ...rest],
    ),
  });

const saturating = (op: Op) =>
  oracleWithKernels(
    changing([op], (result, inputs) => {
      if (result.dtype !== "f16" || inputs.some((x) => toNumbers(x).some((y) => !Number.isFinite(y))))
        return result;
      const { maxFinite } = floatFormats.f16;
      return mapped(result, (x) => Math.max(-maxFinite, Math.min(maxFinite, x)));
    }),
  );

const among = (...ops: readonly Op[]): RegExp => new RegExp(`/(${ops.join("|")})-`);

export const farValueFaults: readonly WrongBackend[] = [
  ...(["Exp", "Floor", "Sqrt", "Softplus"] as const).map(
    (op): WrongBackend => ({
      fault: `${op} limits its operand`,
      factory: () => limited(op, op === "Exp" ? 88 : 2 ** 23),
      axes: ["op"],
      among: among(op),
      named: [`op/${op}-f32/values`],
      consequences: [/^op\//],
    }),
  ),
  ...(["MatMul", "Gemm", "ReduceSum", "CumSum", "Conv"] as const).map(
    (op): WrongBackend => ({
      fault: `${op} saturates in f16`,
      factory: () => saturating(op),
      axes: ["rare"],
      among: among(op),
      named: [`rare/${op}-f16/far-values`],
    }),
  ),
  {
    fault: "a range adds its step again and again",
    factory: () =>
      oracleWithKernels({
        Range: afterwards("Range", (result) => {
          if (result.dtype !== "f32") return result;
          const [first = 0, second = 0] = toNumbers(result);
          const step = Math.fround(second - first);
          let sum = Math.fround(first - step);
          return mapped(result, () => {
            sum = Math.fround(sum + step);
            return sum;
          });
        }),
      }),
    axes: ["rare"],
    among: among("Range"),
    named: ["rare/Range-f32/long-steps"],
  },
  {
    fault: "a maximum with a scalar loses NaN",
    factory: () =>
      oracleWithKernels(
        changing(["Max"], (result, [a, b]) =>
          a !== undefined && b !== undefined && a.shape.length !== b.shape.length && result.dtype === "f32"
            ? mapped(result, (x) => (Number.isNaN(x) ? 0 : x))
            : result,
        ),
      ),
    axes: ["rare"],
    among: among("Max"),
    named: ["rare/Max-f32/nan-on-either-side"],
  },
  {
    fault: "TopK takes -0 for less than 0",
    factory: () =>
      oracleWithKernels({
        TopK: beforehand("TopK", ([x]) =>
          x === undefined
            ? []
            : [x.dtype === "f32" ? mapped(x, (y) => (Object.is(y, -0) ? -(2 ** -149) : y)) : x],
        ),
      }),
    axes: ["rare"],
    among: among("TopK"),
    named: ["rare/TopK-f32/zeros-of-either-sign"],
    consequences: [/^rare\/TopK/],
  },
  {
    fault: "layer normalization drops the last bits of its operand",
    factory: () =>
      oracleWithKernels({
        LayerNormalization: beforehand("LayerNormalization", ([x, ...rest]) =>
          x === undefined
            ? []
            : [
                x.dtype === "f32" ? mapped(x, (y) => (Math.abs(y) >= 4096 ? Math.floor(y / 2) * 2 : y)) : x,
                ...rest,
              ],
        ),
      }),
    axes: ["rare"],
    among: among("LayerNormalization"),
    named: ["rare/LayerNormalization-f32/far-values"],
  },
  {
    fault: "a log-sum-exp without the largest",
    factory: () =>
      oracleWithKernels({
        LogSoftmax: afterwards("LogSoftmax", (result, [x]) =>
          x !== undefined && toNumbers(x).some((y) => y > 88 && y < Number.POSITIVE_INFINITY)
            ? generate(result.dtype, result.shape, () => Number.NaN)
            : result,
        ),
      }),
    axes: ["rare"],
    among: among("LogSoftmax"),
    named: ["rare/LogSoftmax-f32/far-values"],
    consequences: [/^rare\/LogSoftmax/],
  },
];
