/** Faults in forms that programs seldom use. */
import {
  floatFormats,
  type HostTensor,
  isComputeFloat,
  isFloat,
  isHalf,
  type OpAttributes,
  type RunInput,
} from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { hostData, toNumbers } from "../../src/host-data.js";
import { afterwards, changing, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import { wrapped } from "./wrapped.js";
import type { WrongBackend } from "./wrong-backend.js";

const mapped = (given: HostTensor, f: (x: number, at: number) => number): HostTensor =>
  hostData(given.dtype, toNumbers(given).map(f), given.shape);

/** Reverses the elements. */
const backwards = (given: HostTensor): HostTensor =>
  ({ ...given, data: given.data.slice().reverse() }) as HostTensor;

/** Replaces negative indices by 0. */
const withoutNegative = (indices: HostTensor): HostTensor => mapped(indices, (index) => Math.max(index, 0));

const gatherBehind: HostKernel<"GatherND"> = (operands, attributes) => {
  const [x, indices] = dataOf(operands) as [HostTensor, HostTensor];
  return evaluateNode(
    "GatherND",
    [x, attributes.batchDims > 0 ? withoutNegative(indices) : indices],
    attributes,
  );
};

const gatherAlong: HostKernel<"Gather"> = (operands, attributes) => {
  const [x, indices] = dataOf(operands) as [HostTensor, HostTensor];
  return evaluateNode("Gather", [x, attributes.axis > 0 ? withoutNegative(indices) : indices], attributes);
};

const scatterAlong: HostKernel<"ScatterElements"> = (operands, attributes) => {
  const [x, indices, updates] = dataOf(operands) as [HostTensor, HostTensor, HostTensor];
  return evaluateNode(
    "ScatterElements",
    [x, attributes.axis > 2 ? withoutNegative(indices) : indices, updates],
    attributes,
  );
};

/** Reverses the result of convolutions that are grouped and dilated along both axes. */
const groupedAndDilated: HostKernel<"Conv"> = (operands, attributes) => {
  const inputs = dataOf(operands);
  const results = evaluateNode("Conv", inputs, attributes);
  const { group, dilations } = attributes;
  const isBoth = group > 1 && dilations.length === 2 && dilations.every((dilation) => dilation > 1);
  return isBoth ? results.map(backwards) : results;
};

/** Repeats the edge itself if there are four axes or more. */
const symmetric: HostKernel<"Pad"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  const mode = attributes.mode === "reflect" && x.shape.length > 3 ? "edge" : attributes.mode;
  return evaluateNode("Pad", [x], { ...attributes, mode });
};

/** Replaces a non-finite padding value by a finite number. */
const finitePad: HostKernel<"Pad"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  const { maxFinite } = floatFormats.f16;
  const value = Math.min(Math.max(attributes.value, -maxFinite), maxFinite);
  return evaluateNode("Pad", [x], { ...attributes, value: Number.isNaN(value) ? 0 : value });
};

/** Ignores infinite limits. */
const finiteClip: HostKernel<"Clip"> = (operands, { min, max }) => {
  const limits: OpAttributes["Clip"] = {
    ...(min !== undefined && Number.isFinite(min) ? { min } : {}),
    ...(max !== undefined && Number.isFinite(max) ? { max } : {}),
  };
  return evaluateNode("Clip", dataOf(operands), limits);
};

/** Reads the last of several axes with a negative step forwards. */
const oneBackwards: HostKernel<"Slice"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  const [result] = evaluateNode("Slice", [x], attributes) as [HostTensor];
  const reversed = attributes.axes.filter((_, index) => (attributes.steps[index] ?? 1) < 0);
  const last = reversed.at(-1);
  if (reversed.length < 2 || last === undefined) return [result];
  const size = result.shape[last] ?? 1;
  return evaluateNode("Slice", [result], { axes: [last], starts: [size - 1], ends: [-1], steps: [-1] });
};

/** Counts ignored labels in the mean over an image. */
const countsIgnored: HostKernel<"NegativeLogLikelihoodLoss"> = (operands, attributes) => {
  const inputs = dataOf(operands);
  const [result] = evaluateNode("NegativeLogLikelihoodLoss", inputs, attributes) as [HostTensor];
  const [scores, labels] = inputs as [HostTensor, HostTensor];
  const { reduction, ignoreIndex } = attributes;
  if (reduction !== "mean" || ignoreIndex === undefined || scores.shape.length < 3) return [result];
  const all = toNumbers(labels);
  const share = all.filter((label) => label !== ignoreIndex).length / all.length;
  return [mapped(result, (x) => x * share)];
};

/** Does not compute a product that is multiplied by 0. */
const withoutProduct: HostKernel<"Gemm"> = (operands, attributes) => {
  const [a, b, ...rest] = dataOf(operands) as [HostTensor, HostTensor, ...HostTensor[]];
  const zero = (given: HostTensor): HostTensor => (attributes.alpha === 0 ? mapped(given, () => 0) : given);
  return evaluateNode("Gemm", [zero(a), zero(b), ...rest], attributes);
};

/** Ends a product at the first 0, so that a NaN behind it is not seen. */
const endsAtZero: HostKernel<"ReduceProd"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  const [last] = x.shape.slice(-1);
  const isAlongRows = attributes.axes.length === 1 && attributes.axes[0] === x.shape.length - 1;
  if (!isComputeFloat(x.dtype) || !isAlongRows || last === undefined)
    return evaluateNode("ReduceProd", [x], attributes);
  const numbers = toNumbers(x);
  const isBehindZero = (at: number): boolean => numbers.slice(at - (at % last), at).includes(0);
  return evaluateNode("ReduceProd", [mapped(x, (y, at) => (isBehindZero(at) ? 0 : y))], attributes);
};

/** Reads labels as numbers of the scores' half dtype. */
const roundedLabels: HostKernel<"SoftmaxCrossEntropyLoss"> = (operands, attributes) => {
  const [scores, labels, ...rest] = dataOf(operands) as [HostTensor, HostTensor, ...HostTensor[]];
  const rounded = toNumbers(hostData(scores.dtype, toNumbers(labels)));
  const read = isHalf(scores.dtype) ? mapped(labels, (_, at) => rounded[at] as number) : labels;
  return evaluateNode("SoftmaxCrossEntropyLoss", [scores, read, ...rest], attributes);
};

/** Multiplies by the reciprocal of a divisor whose elements are all equal. */
const byReciprocal: HostKernel<"Div"> = (operands, attributes) => {
  const [x, y] = dataOf(operands) as [HostTensor, HostTensor];
  const isOne = y.dtype === "f32" && y.data.every((each) => each === y.data[0]);
  return isOne
    ? evaluateNode("Mul", [x, mapped(y, (each) => 1 / each)], {})
    : evaluateNode("Div", [x, y], attributes);
};

/** Puts NaN first, also when searching for the smallest. */
const nanFirst: HostKernel<"TopK"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  if (attributes.largest || !isComputeFloat(x.dtype)) return evaluateNode("TopK", [x], attributes);
  const seen = mapped(x, (value) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value));
  return evaluateNode("TopK", [seen], attributes);
};

/** Uses comparisons, which never find NaN, in a search over two axes. */
const planeWithoutNan: HostKernel<"ReduceMin"> = (operands, attributes) => {
  const [x] = dataOf(operands) as [HostTensor];
  if (attributes.axes.length < 2 || !isFloat(x.dtype)) return evaluateNode("ReduceMin", [x], attributes);
  const seen = mapped(x, (value) => (Number.isNaN(value) ? Number.POSITIVE_INFINITY : value));
  return evaluateNode("ReduceMin", [seen], attributes);
};

/** Returns the operand if there are no axes, also where squares, magnitudes or logarithms are needed. */
const untouched =
  <K extends OfOne>(op: K): HostKernel<K> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    const isOverNone = attributes.axes.length === 0 && x.shape.length > 0;
    return isOverNone ? [x] : evaluateNode(op, [x], attributes);
  };

/** Replaces values below a limit by 0. */
const nothingBelow =
  (limit: number) =>
  (result: HostTensor): HostTensor =>
    isComputeFloat(result.dtype) ? mapped(result, (x) => (Math.abs(x) < limit ? 0 : x)) : result;

const flushed = (given: HostTensor): HostTensor =>
  given.dtype === "f32"
    ? mapped(given, (x) => (Math.abs(x) < floatFormats.f32.minNormal ? x * 0 : x))
    : given;

/** Reads only the lowest bit of a bool's byte. */
function lowestBits<T>(given: T): T {
  const { dtype, data } = (given ?? {}) as { readonly dtype?: unknown; readonly data?: unknown };
  if (dtype !== "bool" || !(data instanceof Uint8Array)) return given;
  return { ...given, data: data.map((byte) => byte & 1) };
}

const lowestBitsOf = (given: Readonly<Record<string, RunInput>>): Record<string, RunInput> =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [name, lowestBits(value)]));

const OF_ONE = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare"] as const;
type OfOne = (typeof OF_ONE)[number];

const AXES = ["op", "cast", "size", "reduce", "rare", "axis", "option", "transfer", "integer", "image"];
const inFloats = (form: string): readonly string[] =>
  ["f32", "f16", "bf16"].map((dtype) => form.replace("*", dtype));

export const rareFormFaults: readonly WrongBackend[] = [
  {
    fault: "what two operands of five axes make together is in another order",
    factory: () =>
      oracleWithKernels(
        changing(["Mul", "Greater", "Where"], (result, inputs) =>
          result.shape.length === 5 && inputs.every(({ data }) => data.length < result.data.length)
            ? backwards(result)
            : result,
        ),
      ),
    axes: AXES,
    among: /\/(Mul|Greater|Where)-/,
    named: ["axis/Mul-f32/every-axis", "axis/Greater-f32/every-axis", "axis/Where-f32/every-axis"],
    consequences: [/^axis\/(Mul|Greater|Where)-\w+\/every-axis$/],
  },
  {
    fault: "batches of three axes are multiplied in another order",
    factory: () =>
      oracleWithKernels({
        MatMul: afterwards("MatMul", (result) => (result.shape.length === 5 ? backwards(result) : result)),
      }),
    axes: [...AXES, "form"],
    among: /\/MatMul[-/]/,
    named: ["axis/MatMul-f32/every-axis", "form/MatMul/in-other-dtypes"],
  },
  {
    fault: "indices from the end are lost behind shared axes",
    factory: () => oracleWithKernels({ GatherND: gatherBehind }),
    axes: [...AXES, "form"],
    among: /\/GatherND/,
    named: ["axis/GatherND-f32/every-depth", "form/GatherND/in-other-dtypes"],
    consequences: [/^(size|axis)\/GatherND/],
  },
  {
    fault: "indices from the end are lost along inner axes",
    factory: () => oracleWithKernels({ Gather: gatherAlong, ScatterElements: scatterAlong }),
    axes: [...AXES, "form"],
    among: /\/(Gather|ScatterElements)[-/]/,
    named: ["Gather", "ScatterElements"].flatMap((op) => [
      `axis/${op}-f32/every-axis`,
      `form/${op}/in-other-dtypes`,
    ]),
    consequences: [/^size\/(Gather|ScatterElements)[-/]/, /^axis\/(Gather|ScatterElements)-/],
  },
  {
    fault: "convolutions in groups with holes mix up their channels",
    factory: () => oracleWithKernels({ Conv: groupedAndDilated }),
    axes: [...AXES, "gradient"],
    among: /\/Conv[-/]/,
    named: ["option/Conv-f32/each-value-and-each-two"],
    consequences: [/^op\/Conv-\w+\/non-finite-values-stay-in-their-sums$/, /^option\/Conv-/],
  },
  {
    fault: "reflection over four axes repeats the edge",
    factory: () => oracleWithKernels({ Pad: symmetric }),
    axes: [...AXES, "form"],
    among: /\/Pad[-/]/,
    named: ["axis/Pad-f32/reflect-along-every-axis", "form/Pad/in-other-dtypes"],
    consequences: [/^axis\/Pad-\w+\/reflect-along-every-axis$/],
  },
  {
    fault: "tensors are padded with finite numbers only",
    factory: () => oracleWithKernels({ Pad: finitePad }),
    axes: AXES,
    among: /\/Pad[-/]/,
    named: inFloats("option/Pad-*/each-value-and-each-two"),
    consequences: [/^option\/Pad-f8e5m2/, /^integer\/Pad-/],
  },
  {
    fault: "an infinite limit is none",
    factory: () => oracleWithKernels({ Clip: finiteClip }),
    axes: AXES,
    among: /\/Clip[-/]/,
    named: inFloats("option/Clip-*/each-value-and-each-two"),
  },
  {
    fault: "of two axes that run backwards one runs forwards",
    factory: () => oracleWithKernels({ Slice: oneBackwards }),
    axes: AXES,
    among: /\/Slice[-/]/,
    named: ["axis/Slice-f32/every-two-axes"],
    consequences: [/^axis\/Slice-\w+\/every-two-axes$/],
  },
  {
    fault: "means over images count ignored labels",
    factory: () => oracleWithKernels({ NegativeLogLikelihoodLoss: countsIgnored }),
    axes: AXES,
    among: /\/NegativeLogLikelihoodLoss[-/]/,
    named: ["option/NegativeLogLikelihoodLoss-f32/each-value-and-each-two"],
    consequences: [/^option\/NegativeLogLikelihoodLoss-/],
  },
  {
    fault: "a product ends at the first 0",
    factory: () => oracleWithKernels({ ReduceProd: endsAtZero }),
    axes: [...AXES, "form"],
    among: /\/ReduceProd[-/]/,
    named: inFloats("reduce/ReduceProd-*/nan-beside-infinity"),
  },
  {
    fault: "labels are read in the scores' half dtype",
    factory: () => oracleWithKernels({ SoftmaxCrossEntropyLoss: roundedLabels }),
    axes: [...AXES, "form"],
    among: /\/SoftmaxCrossEntropyLoss[-/]/,
    named: ["f16", "bf16"].map((dtype) => `op/SoftmaxCrossEntropyLoss-${dtype}/many-classes`),
    consequences: [/^(tail|size)\/SoftmaxCrossEntropyLoss/],
  },
  {
    fault: "a constant divisor is a factor",
    factory: () => oracleWithKernels({ Div: byReciprocal }),
    axes: [...AXES, "form", "rewrite"],
    among: /\/Div[-/]|^rewrite\/quotients-f32/,
    named: ["inputs", "constants", "inner-values"].map((place) => `rewrite/quotients-f32/of-${place}`),
    consequences: [/\/Div-f32\//],
  },
  {
    fault: "a product times 0 is left out",
    factory: () => oracleWithKernels({ Gemm: withoutProduct }),
    axes: AXES,
    among: /\/Gemm[-/]/,
    named: inFloats("op/Gemm-*/factors-of-zero-keep-nan"),
  },
  {
    fault: "NaN is the smallest number",
    factory: () => oracleWithKernels({ TopK: nanFirst }),
    axes: AXES,
    among: /\/TopK[-/]/,
    named: inFloats("rare/TopK-*/nan-and-equals-either-way"),
    consequences: [/^rare\/TopK-\w+\/(nan-down-the-columns|zeros-of-either-sign)$/],
  },
  {
    fault: "minima over two axes lose NaN",
    factory: () => oracleWithKernels({ ReduceMin: planeWithoutNan }),
    axes: AXES,
    among: /\/ReduceMin[-/]/,
    named: inFloats("rare/ReduceMin-*/nan-in-two-axes"),
  },
  {
    fault: "a reduction over no axes does nothing",
    factory: () =>
      oracleWithKernels({
        ReduceL1: untouched("ReduceL1"),
        ReduceL2: untouched("ReduceL2"),
        ReduceLogSum: untouched("ReduceLogSum"),
        ReduceSumSquare: untouched("ReduceSumSquare"),
      }),
    axes: AXES,
    among: /\/Reduce(L1|L2|LogSum|SumSquare)[-/]/,
    named: OF_ONE.flatMap((op) => inFloats(`op/${op}-*/over-no-axes`)),
  },
  {
    fault: "small sigmoids of halves are 0",
    factory: () =>
      oracleWithKernels({
        Sigmoid: afterwards("Sigmoid", (result) =>
          isHalf(result.dtype) ? nothingBelow(2 ** -12)(result) : result,
        ),
      }),
    axes: AXES,
    among: /\/Sigmoid[-/]/,
    named: ["f16", "bf16"].map((dtype) => `rare/Sigmoid-${dtype}/small-results`),
    consequences: [/^op\/Sigmoid-\w+\/values$/],
  },
  {
    fault: "small shares are 0",
    factory: () => oracleWithKernels({ Softmax: afterwards("Softmax", nothingBelow(2 ** -18)) }),
    axes: AXES,
    among: /\/Softmax[-/]/,
    named: inFloats("rare/Softmax-*/small-results"),
    consequences: [/^rare\/Softmax-\w+\/far-values$/],
  },
  {
    fault: "moving a number flushes it",
    factory: () => oracleWithKernels(changing(["Transpose", "Gather", "Concat", "Pad"], flushed)),
    axes: AXES,
    among: /\/(Transpose|Gather|Concat|Pad)[-/]/,
    named: ["Transpose", "Gather", "Concat", "Pad"].map((op) => `rare/${op}-f32/subnormals`),
  },
  {
    fault: "of a bool's byte only the lowest bit is read",
    factory: async () => {
      const backend = await reference();
      return wrapped(backend, {
        upload: (tensor, right) => right(lowestBits(tensor)),
        createState: (values, right) =>
          right(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, lowestBits(value)]))),
        executable: (executable) => ({ run: (inputs) => executable.run(lowestBitsOf(inputs)) }),
      });
    },
    axes: ["rare", "transfer", "state", "lifecycle"],
    among: /bool|^state|^lifecycle/,
    named: ["rare/bool/bytes-fed-to-a-run", "rare/bool/bytes-uploaded", "rare/bool/bytes-in-a-state"],
  },
];
