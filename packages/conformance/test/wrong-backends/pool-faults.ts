/** Faults in pools and normalizations, as in engines that were not tested against a specification. */
import { decode, encode, type FloatDType, floatFormats, type HostTensor } from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import { beforehand, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const POOLING = /Pool|Normalization/;
const FLOATS = ["f32", "f16", "bf16"] as const;

function mapped(given: HostTensor, f: (x: number, at: number) => number): HostTensor {
  return hostData(given.dtype, toNumbers(given).map(f), given.shape);
}

/** Increases later elements by less than any real difference, so that the last of equal elements wins. */
const lastOfEquals = ([dy, x, y]: readonly HostTensor[]): readonly HostTensor[] => {
  if (dy === undefined || x === undefined || y === undefined) return [];
  return x.dtype === "f32" ? [dy, mapped(x, (value, at) => value + at / 4096), y] : [dy, x, y];
};

const withoutNan = (inputs: readonly HostTensor[]): readonly HostTensor[] =>
  inputs.map((x) => mapped(x, (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value)));

const fromTheLowest = (inputs: readonly HostTensor[]): readonly HostTensor[] =>
  inputs.map((x) => mapped(x, (value) => (Number.isNaN(value) ? value : Math.max(value, lowestOf(x)))));

const lowestAsNone = (inputs: readonly HostTensor[]): readonly HostTensor[] =>
  inputs.map((x) => mapped(x, (value) => (value === lowestOf(x) ? Number.NEGATIVE_INFINITY : value)));

const lowestOf = ({ dtype }: HostTensor): number => -floatFormats[dtype as FloatDType].maxFinite;

const countingPads: HostKernel<"AveragePool"> = ([x], attributes) =>
  evaluateNode("AveragePool", x === undefined ? [] : [x.data], { ...attributes, countIncludePad: true });

/** Computes the variance as the mean of squares minus the square of the mean, each rounded to f32. */
const differenceOfSquares: HostKernel<"BatchNormalization"> = (inputs, { epsilon }) => {
  const [x, scale, bias] = inputs.map(({ data }) => data) as [HostTensor, HostTensor, HostTensor];
  const [, mean] = evaluateNode("BatchNormalization", [x, scale, bias], { epsilon }) as [
    HostTensor,
    HostTensor,
  ];
  const channels = x.shape[1] ?? 1;
  const plane = x.shape.slice(2).reduce((product, size) => product * size, 1);
  const channelOf = (at: number): number => Math.floor(at / plane) % channels;
  const [values, means] = [toNumbers(x), toNumbers(mean)];
  const squares = new Float32Array(channels);
  values.forEach((value, at) => {
    squares[channelOf(at)] = (squares[channelOf(at)] ?? 0) + Math.fround(value * value);
  });
  const variance = squares.map(
    (sum, channel) => Math.fround(sum / (values.length / channels)) - Math.fround((means[channel] ?? 0) ** 2),
  );
  const [factors, shifts] = [toNumbers(scale), toNumbers(bias)];
  const dtype = x.dtype as FloatDType;
  const y = mapped(x, (value, at) => {
    const channel = channelOf(at);
    const normal = (value - (means[channel] ?? 0)) / Math.sqrt((variance[channel] ?? 0) + epsilon);
    return decode(dtype, encode(dtype, normal * (factors[channel] ?? 0) + (shifts[channel] ?? 0)));
  });
  return [y, mean, hostData("f32", Array.from(variance))];
};

/** Gives no gradient to windows of only -infinity, from which a search for the maximum starts. */
const foundNothing = ([dy, x, y]: readonly HostTensor[]): readonly HostTensor[] => {
  if (dy === undefined || x === undefined || y === undefined) return [];
  const largest = toNumbers(y);
  return [mapped(dy, (value, at) => (largest[at] === Number.NEGATIVE_INFINITY ? 0 : value)), x, y];
};

export const poolFaults: readonly WrongBackend[] = [
  {
    fault: "the gradient of a pool goes to the last of equals",
    factory: () => oracleWithKernels({ MaxPoolGradient: beforehand("MaxPoolGradient", lastOfEquals) }),
    axes: ["op", "gradient"],
    among: POOLING,
    named: ["op/MaxPoolGradient-f32/of-equals-the-first", "op/MaxPoolGradient-f32/all-equal"],
    consequences: [/\/pads-of-a-kernels-size$/],
  },
  {
    fault: "the gradient of a pool is lost where all of a window is -infinity",
    factory: () => oracleWithKernels({ MaxPoolGradient: beforehand("MaxPoolGradient", foundNothing) }),
    axes: ["op", "gradient"],
    among: POOLING,
    named: FLOATS.map((dtype) => `op/MaxPoolGradient-${dtype}/nothing-but-negative-infinity`),
    consequences: [/\/pads-of-a-kernels-size$/],
  },
  {
    fault: "maximum pools lose NaN",
    factory: () => oracleWithKernels({ MaxPool: beforehand("MaxPool", withoutNan) }),
    axes: ["op", "gradient"],
    among: POOLING,
    named: FLOATS.flatMap((dtype) => [
      `op/MaxPool-${dtype}/nan-in-windows`,
      `op/MaxPool-${dtype}/lowest-and-infinite`,
    ]),
  },
  {
    fault: "maximum pools begin at the lowest finite number",
    factory: () => oracleWithKernels({ MaxPool: beforehand("MaxPool", fromTheLowest) }),
    axes: ["op", "gradient"],
    among: POOLING,
    named: FLOATS.flatMap((dtype) => [
      `op/MaxPool-${dtype}/nan-in-windows`,
      `op/MaxPool-${dtype}/lowest-and-infinite`,
    ]),
  },
  {
    fault: "maximum pools take the lowest finite number for none",
    factory: () => oracleWithKernels({ MaxPool: beforehand("MaxPool", lowestAsNone) }),
    axes: ["op", "gradient"],
    among: POOLING,
    named: FLOATS.map((dtype) => `op/MaxPool-${dtype}/lowest-and-infinite`),
  },
  {
    fault: "means of windows count the padding",
    factory: () => oracleWithKernels({ AveragePool: countingPads }),
    axes: ["op"],
    among: POOLING,
    named: FLOATS.flatMap((dtype) => [
      `op/AveragePool-${dtype}/values`,
      `op/AveragePool-${dtype}/ceiling-of-the-size`,
    ]),
    consequences: [/^op\/AveragePool-/],
  },
  {
    fault: "the variance of a batch is a difference of squares",
    factory: () => oracleWithKernels({ BatchNormalization: differenceOfSquares }),
    axes: ["op"],
    among: POOLING,
    named: ["op/BatchNormalization-f32/a-large-mean-and-a-small-variance"],
    // Its rounding differs throughout.
    consequences: [/^op\/BatchNormalization-/],
  },
];
