import { GraphBuilder, type HostTensor, isHalf, type OpAttributes } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { hostData, toNumbers } from "../../src/host-data.js";
import { afterwards, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const exchangedPads = (pads: readonly number[]): readonly number[] => {
  const half = pads.length / 2;
  return [...pads.slice(half), ...pads.slice(0, half)];
};

/** Reverses the elements of every kernel. */
function turned(weights: HostTensor): HostTensor {
  const taps = weights.shape.slice(2).reduce((product, size) => product * size, 1);
  const numbers = toNumbers(weights);
  return hostData(
    weights.dtype,
    numbers.map((_, at) => numbers[at - (at % taps) + taps - 1 - (at % taps)] ?? 0),
    weights.shape,
  );
}

/** Adds the bias after rounding. */
const biasedLate: HostKernel<"Conv"> = (operands, attributes) => {
  const [x, w, bias] = dataOf(operands) as [HostTensor, HostTensor, HostTensor | undefined];
  const [y] = evaluateNode("Conv", [x, w], attributes) as readonly [HostTensor];
  if (bias === undefined) return [y];
  const column = { ...bias, shape: [...bias.shape, ...y.shape.slice(2).map(() => 1)] } as HostTensor;
  return evaluateNode("Add", [y, column], {});
};

/** Rounds each image's contribution before adding it. */
const roundedByImage: HostKernel<"ConvWeightGradient"> = (operands, attributes) => {
  const [x, dy] = dataOf(operands) as [HostTensor, HostTensor];
  if (!isHalf(x.dtype) || (x.shape[0] ?? 0) < 2)
    return evaluateNode("ConvWeightGradient", [x, dy], attributes);
  return [sumOfImages(x, dy, attributes)];
};

function sumOfImages(
  x: HostTensor,
  dy: HostTensor,
  attributes: OpAttributes["ConvWeightGradient"],
): HostTensor {
  const builder = new GraphBuilder();
  const [images, gradients] = [x, dy].map((type, index) => {
    const value = builder.input(`x${index}`, type, "batch");
    const split = new Array<number>(type.shape[0] ?? 0).fill(1);
    return builder.emit("Split", [value], { axis: 0, split });
  });
  const sum = (images ?? [])
    .map((image, index) => {
      const gradient = gradients?.[index];
      if (gradient === undefined) throw new Error("as many gradients as images");
      return builder.emitOne("ConvWeightGradient", [image, gradient], attributes);
    })
    .reduce((total, part) => builder.emitOne("Add", [total, part], {}));
  const { dw } = evaluate(builder.finish({ dw: sum }), { x0: x, x1: dy });
  return dw as HostTensor;
}

/** Replaces NaN, as a kernel that skips terms with a 0, also where the other factor is infinite. */
const withoutZeroTerms = (result: HostTensor): HostTensor =>
  hostData(
    result.dtype,
    toNumbers(result).map((x) => (Number.isNaN(x) ? 1 : x)),
    result.shape,
  );

/** Fills a dilated kernel with zeros between its taps, where an infinity then gives NaN. */
const filledBetween =
  <K extends "Conv" | "ConvTranspose">(op: K): HostKernel<K> =>
  (operands, attributes) => {
    const data = dataOf(operands);
    const results = evaluateNode(op, data, attributes);
    const isTame = data.every((tensor) => toNumbers(tensor).every(Number.isFinite));
    if (isTame || attributes.dilations.every((dilation) => dilation === 1)) return results;
    return results.map(({ dtype, shape, data: { length } }) =>
      hostData(dtype, new Array<number>(length).fill(Number.NaN), shape),
    );
  };

const STAYS = "non-finite-values-stay-in-their-sums";

export const convolutionFaults: readonly WrongBackend[] = [
  {
    fault: "convolutions leave out terms with a 0",
    factory: () =>
      oracleWithKernels({
        Conv: afterwards("Conv", withoutZeroTerms),
        ConvTranspose: afterwards("ConvTranspose", withoutZeroTerms),
        ConvWeightGradient: afterwards("ConvWeightGradient", withoutZeroTerms),
      }),
    axes: ["op"],
    among: /Conv/,
    named: ["Conv", "ConvTranspose", "ConvWeightGradient"].map((op) => `op/${op}-f32/zeros-times-infinity`),
    consequences: [/\/zeros-times-infinity$/, new RegExp(`/${STAYS}$`)],
  },
  {
    fault: "convolutions say that theirs of NaN differ, and hide it",
    factory: () =>
      oracleWithKernels(
        {
          Conv: afterwards("Conv", withoutZeroTerms),
          ConvTranspose: afterwards("ConvTranspose", withoutZeroTerms),
          ConvWeightGradient: afterwards("ConvWeightGradient", withoutZeroTerms),
        },
        { nonFiniteConvolution: { unsupported: "blocks of channels are filled up with zeros" } },
      ),
    axes: ["op"],
    among: /Conv/,
    named: ["Conv", "ConvTranspose", "ConvWeightGradient"].map((op) => `op/${op}-f32/${STAYS}`),
    consequences: [/\/zeros-times-infinity$/, new RegExp(`/${STAYS}$`)],
    message: /is not finite|NaN/,
  },
  {
    fault: "dilated convolutions spread NaN and do not say so",
    factory: () =>
      oracleWithKernels({ Conv: filledBetween("Conv"), ConvTranspose: filledBetween("ConvTranspose") }),
    axes: ["op"],
    among: /Conv/,
    named: ["Conv", "ConvTranspose"].map((op) => `op/${op}-f32/${STAYS}`),
    consequences: [new RegExp(`/${STAYS}$`)],
  },
  {
    fault: "convolutions exchange pads at the begin and at the end, and turn no kernels around",
    factory: () =>
      oracleWithKernels({
        Conv: (operands, attributes) =>
          evaluateNode("Conv", dataOf(operands), { ...attributes, pads: exchangedPads(attributes.pads) }),
        ConvTranspose: (operands, attributes) => {
          const [x, w, ...bias] = dataOf(operands) as [HostTensor, HostTensor, ...HostTensor[]];
          return evaluateNode("ConvTranspose", [x, turned(w), ...bias], attributes);
        },
      }),
    axes: ["op", "summation"],
    among: /(Conv|ConvTranspose|ConvWeightGradient)-f32\//,
    named: [
      "op/Conv-f32/lines",
      "op/Conv-f32/values",
      "op/Conv-f32/overhanging-kernels",
      "op/ConvTranspose-f32/lines",
      "op/ConvTranspose-f32/values",
      "op/ConvTranspose-f32/volumes",
    ],
    consequences: [/^op\/(Conv|ConvTranspose)-/],
  },
  {
    fault: "convolutions round before the bias, and their gradients each image's part",
    factory: () => oracleWithKernels({ Conv: biasedLate, ConvWeightGradient: roundedByImage }),
    axes: ["summation"],
    named: [
      "summation/Conv-f16/the-bias-is-added-before-rounding",
      "summation/Conv-bf16/the-bias-is-added-before-rounding",
      "summation/ConvWeightGradient-f16/images-are-added-before-rounding",
      "summation/ConvWeightGradient-bf16/images-are-added-before-rounding",
    ],
    consequences: [/^summation\/ConvWeightGradient-/],
  },
];
