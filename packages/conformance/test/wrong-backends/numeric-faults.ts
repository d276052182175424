import {
  decode,
  encode,
  type FloatDType,
  floatFormats,
  type HostTensor,
  isComputeFloat,
  isFloat,
  type Op,
  opDTypes,
  tensor,
} from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import {
  afterwards,
  beforehand,
  changing,
  evaluateNode,
  type HostKernel,
  oracleWithKernels,
} from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const OPS = Object.keys(opDTypes) as Op[];

function mapped(given: HostTensor, f: (x: number) => number): HostTensor {
  return hostData(given.dtype, toNumbers(given).map(f), given.shape);
}

/** Rounds toward zero instead of to nearest. */
function truncatedTo(dtype: FloatDType, x: number): number {
  const near = decode(dtype, encode(dtype, x));
  if (!(Math.abs(near) > Math.abs(x))) return near;
  return Math.abs(near) === Number.POSITIVE_INFINITY
    ? Math.sign(x) * floatFormats[dtype].maxFinite
    : decode(dtype, encode(dtype, near) - 1);
}

/** Rounds away from zero instead of to nearest, so that only 0 becomes 0. */
function raisedTo(dtype: FloatDType, x: number): number {
  const bits = encode(dtype, x);
  const near = decode(dtype, bits);
  return Math.abs(near) < Math.abs(x) ? decode(dtype, bits + 1) : near;
}

const castBy =
  (rounded: (dtype: FloatDType, x: number) => number): HostKernel<"Cast"> =>
  ([x], { to }) => {
    if (x === undefined || x.dtype !== "f32" || (to !== "f16" && to !== "bf16")) {
      return evaluateNode("Cast", x === undefined ? [] : [x.data], { to });
    }
    return [
      hostData(
        to,
        toNumbers(x.data).map((value) => rounded(to, value)),
        x.shape,
      ),
    ];
  };

/** A sum that is wrong only if both operands have a half dtype and one shape. */
const raisedSum: HostKernel<"Add"> = ([a, b], attributes) => {
  const [x, y] = [a?.data as HostTensor, b?.data as HostTensor];
  const { dtype } = x;
  if ((dtype !== "f16" && dtype !== "bf16") || x.shape.join() !== y.shape.join()) {
    return evaluateNode("Add", [x, y], attributes);
  }
  const others = toNumbers(y);
  const sums = toNumbers(x).map((value, index) => raisedTo(dtype, value + (others[index] ?? 0)));
  return [hostData(dtype, sums, x.shape)];
};

/** Keeps every partial sum in the half dtype, as a kernel without a wider accumulator does. */
const halfProduct: HostKernel<"MatMul"> = ([a, b], attributes) => {
  const [x, y] = [a?.data as HostTensor, b?.data as HostTensor];
  const [result] = evaluateNode("MatMul", [x, y], attributes) as readonly [HostTensor];
  const { dtype } = x;
  if (!isFloat(dtype) || dtype === "f32" || x.shape.length !== 2 || y.shape.length !== 2) return [result];
  const [m = 0, k = 0] = x.shape;
  const n = y.shape[1] ?? 0;
  const [left, right] = [toNumbers(x), toNumbers(y)];
  const round = (value: number): number => decode(dtype, encode(dtype, value));
  const sums = Array.from({ length: m * n }, (_, place) => {
    let sum = 0;
    for (let p = 0; p < k; p++)
      sum = round(sum + (left[Math.floor(place / n) * k + p] ?? 0) * (right[p * n + (place % n)] ?? 0));
    return sum;
  });
  return [hostData(dtype, sums, result.shape)];
};

const flushing = (result: HostTensor): HostTensor => {
  const { dtype } = result;
  if (dtype !== "f16") return result;
  return mapped(result, (x) => (Math.abs(x) < floatFormats.f16.minNormal ? x * 0 : x));
};

/** Takes maxima by `x > max ? x : max`, as ONNX Runtime does, where every comparison with NaN is false. */
const losingNan: HostKernel<"ReduceMax"> = ([x], attributes) => {
  const data = x?.data as HostTensor;
  const cleaned = isFloat(data.dtype)
    ? mapped(data, (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value))
    : data;
  return evaluateNode("ReduceMax", [cleaned], attributes);
};

/** The operand in TF32: without the 13 low bits of its fraction. */
function tf32(given: HostTensor): HostTensor {
  if (given.dtype !== "f32") return given;
  const bits = new Int32Array(Float32Array.from(given.data).buffer).map((word) => word & ~0x1fff);
  return tensor(new Float32Array(bits.buffer), given.shape);
}

export const numericFaults: readonly WrongBackend[] = [
  {
    fault: "casts to halves truncate",
    factory: () => oracleWithKernels({ Cast: castBy(truncatedTo) }),
    axes: ["cast", "autocast", "master-weights", "manifest", "state", "random"],
    named: [
      "cast/f32-to-f16/ties-go-to-even",
      "cast/f32-to-f16/every-value-and-tie",
      "cast/f32-to-f16/overflows-from-65520",
      "cast/f32-to-bf16/ties-go-to-even",
      "cast/f32-to-bf16/every-value-and-tie",
      "cast/f32-to-bf16/overflows-from-the-tie",
    ],
    consequences: [/^cast\/f32-to-(f16|bf16)\//, /^autocast\//, /^master-weights\//],
  },
  {
    fault: "casts to halves and sums of halves round away from zero",
    factory: () => oracleWithKernels({ Cast: castBy(raisedTo), Add: raisedSum }),
    axes: ["loss-scale", "master-weights"],
    named: [
      "loss-scale/f16/without-a-scale-small-gradients-are-lost",
      "master-weights/none-f16/loses-half-a-unit",
    ],
    consequences: [/^master-weights\//, /^loss-scale\/f16\/learns-nothing-without-a-scale$/],
  },
  {
    fault: "products of halves sum in the half",
    factory: () => oracleWithKernels({ MatMul: halfProduct }),
    axes: ["summation"],
    among: /\/MatMul-/,
    named: [
      "summation/MatMul-f16/small-terms-are-not-lost",
      "summation/MatMul-f16/5000-terms-of-rows-and-columns",
      "summation/MatMul-bf16/small-terms-are-not-lost",
      "summation/MatMul-bf16/5000-terms-of-rows-and-columns",
    ],
    consequences: [/^summation\/MatMul-(f16|bf16)\//],
  },
  {
    fault: "subnormal halves are flushed",
    factory: () =>
      oracleWithKernels(
        changing(
          OPS.filter((op) => op !== "Constant"),
          flushing,
        ),
      ),
    axes: ["cast", "op", "autocast", "state", "transfer"],
    named: ["cast/f32-to-f16/subnormals-survive", "cast/f32-to-f16/every-value-and-tie"],
    consequences: [/^cast\/.*-to-f16\//, /^op\/[A-Za-z]+-f16\//, /^autocast\//],
  },
  {
    fault: "maxima lose NaN",
    factory: () => oracleWithKernels({ ReduceMax: losingNan }),
    axes: ["reduce", "op", "finite-check", "gradient"],
    named: ["f32", "f16", "bf16"].flatMap((dtype) =>
      ["nan-at-every-position", "nan-beside-infinity"].map(
        (behaviour) => `reduce/ReduceMax-${dtype}/${behaviour}`,
      ),
    ),
  },
  {
    fault: "products keep 11 bits of f32",
    factory: () => oracleWithKernels({ MatMul: beforehand("MatMul", (inputs) => inputs.map(tf32)) }),
    axes: ["summation", "op", "gradient", "autocast"],
    named: ["summation/MatMul-f32/keeps-24-bits", "op/MatMul-f32/values"],
    consequences: [
      /^op\/MatMul-f32\//,
      /^gradient\/(MatMul|Gemm)-f32\//,
      // Computed in f32 whatever the operands are.
      /^gradient\/Attention-/,
      /^autocast\//,
    ],
  },
  {
    fault: "random bits do not look at their counter",
    factory: () =>
      oracleWithKernels({
        RandomBits: beforehand("RandomBits", () => [tensor(Int32Array.of(0), [])]),
      }),
    axes: ["random", "op", "accumulate", "remat", "retry", "resume"],
    named: [
      "random/bits/are-squares32",
      "random/bits/of-a-training-steps-counters",
      "accumulate/random/each-microbatch-draws-its-own",
      "remat/dropout/draws-the-same-masks-again",
      "retry/same-batch/draws-the-same-masks",
    ],
    consequences: [/^random\//, /^op\/RandomBits-/],
  },
  {
    fault: "Where adds its two sides times 1 and 0, so that NaN of the side that is not chosen comes through",
    factory: () =>
      oracleWithKernels({
        Where: afterwards("Where", (result, inputs) => {
          const others = inputs.slice(1).flatMap((side) => toNumbers(side));
          return isFloat(result.dtype) && others.some(Number.isNaN)
            ? hostData(
                result.dtype,
                toNumbers(result).map(() => Number.NaN),
                result.shape,
              )
            : result;
        }),
      }),
    axes: ["accumulate"],
    among: /\/weight\//,
    named: ["accumulate/weight/equals-the-whole-batch"],
  },
  {
    fault: "≥ is > on integers",
    factory: () =>
      oracleWithKernels({
        GreaterOrEqual: (inputs, attributes) =>
          evaluateNode(
            inputs[0]?.dtype === "i32" ? "Greater" : "GreaterOrEqual",
            inputs.map(({ data }) => data),
            attributes,
          ),
      }),
    axes: ["form"],
    among: /GreaterOrEqual/,
    named: ["form/GreaterOrEqual/in-other-dtypes"],
  },
  {
    fault: "logarithms are a thousandth too large",
    factory: () =>
      oracleWithKernels({ Log: afterwards("Log", (result) => mapped(result, (x) => x * 1.001)) }),
    axes: ["op"],
    among: /\/Log-/,
    named: ["op/Log-f32/values"],
    consequences: [/^op\/Log-/],
  },
  {
    fault: "infinity times zero is zero",
    factory: () =>
      oracleWithKernels({
        Mul: afterwards("Mul", (result) =>
          isComputeFloat(result.dtype) ? mapped(result, (x) => (Number.isNaN(x) ? 0 : x)) : result,
        ),
      }),
    axes: ["finite-check"],
    named: ["finite-check/f32/sees-every-position"],
    consequences: [/^finite-check\//],
  },
  {
    fault: "the sign of zero is lost in products",
    factory: () =>
      oracleWithKernels({
        Mul: afterwards("Mul", (result) =>
          isComputeFloat(result.dtype) ? mapped(result, (x) => x + 0) : result,
        ),
      }),
    axes: ["op", "cast", "lifecycle"],
    named: ["f32", "f16", "bf16"].map((dtype) => `op/Mul-${dtype}/values`),
    consequences: [/^op\/Mul-(f32|f16|bf16)\//],
  },
];
