import type { OpOf } from "../../graph/families.js";
import { elementCount } from "../../shape.js";
import { gatherElements, gatherND, scatterElements, scatterND } from "../../trace/ops/indexing.js";
import { concat, expand, pad, reshape, transpose, unsqueeze } from "../../trace/ops/movement.js";
import { range } from "../../trace/ops/source.js";
import type { Tensor } from "../../trace/tensor.js";
import { type GradientRule, type GradientTable, zeroGradient } from "./rule.js";

const ADD = { reduction: "add" } as const;

/**
 * Adds rows into zeros, with the gathered axis first: an embedding's gradient is one ScatterND. With a single literal
 * index, Gather is a slice, so the gradient is a Pad.
 */
const gatherGradient: GradientRule<"Gather"> = (site) => {
  const { axis } = site.attributes;
  const { gradient, input, inputType, literal } = site;
  const [data, indices] = [inputType(0), inputType(1)];
  const position = literal(1);
  if (position !== undefined && indices.shape.length === 0) {
    const size = data.shape[axis] ?? 0;
    const before = position < 0 ? position + size : position;
    const pads = data.shape.map((_, index): [number, number] =>
      index === axis ? [before, size - 1 - before] : [0, 0],
    );
    return [pad(unsqueeze(gradient(0), [axis]), pads)];
  }
  const positions = unsqueeze(input(1), [-1]);
  if (axis === 0) return [scatterND(zeroGradient(data), positions, gradient(0), ADD)];
  const depth = indices.shape.length;
  const axes = gradient(0).shape.map((_, index) => index);
  const front = [...axes.slice(axis, axis + depth), ...axes.slice(0, axis), ...axes.slice(axis + depth)];
  const [size, ...rest] = [data.shape[axis] ?? 0, ...data.shape.toSpliced(axis, 1)];
  const rows = zeroGradient({ dtype: data.dtype, shape: [size, ...rest] });
  const summed = scatterND(rows, positions, transpose(gradient(0), front), ADD);
  const back = data.shape.map((_, index) => (index === axis ? 0 : index < axis ? index + 1 : index));
  return [transpose(summed, back)];
};

/** ScatterND has no batch axes, so the batch becomes one more coordinate of every index. */
const gatherNDGradient: GradientRule<"GatherND"> = ({ attributes, gradient, input, inputType }) => {
  const { batchDims } = attributes;
  const [data, indices] = [inputType(0), inputType(1)];
  if (batchDims === 0) return [scatterND(zeroGradient(data), input(1), gradient(0), ADD)];
  const batch = elementCount(data.shape.slice(0, batchDims), "GatherND");
  const inner = indices.shape.slice(batchDims);
  const counted = reshape(range(0, batch), [batch, ...inner.map(() => 1)]);
  const coordinate = expand(counted, [batch, ...inner.slice(0, -1), 1]);
  const positions = concat([coordinate, reshape(input(1), [batch, ...inner])], -1);
  const rows = zeroGradient({ dtype: data.dtype, shape: [batch, ...data.shape.slice(batchDims)] });
  const updates = reshape(gradient(0), [
    batch,
    ...inner.slice(0, -1),
    ...data.shape.slice(batchDims + (inner.at(-1) ?? 0)),
  ]);
  return [reshape(scatterND(rows, positions, updates, ADD), data.shape)];
};

const UNSCATTERABLE = "a scatter that multiplies or takes extrema; scatter into zeros and combine afterwards";

export const indexingGradients: GradientTable<OpOf<"indexing">> = {
  Gather: gatherGradient,
  GatherElements: ({ attributes: { axis }, gradient, input, inputType }) => [
    scatterElements(zeroGradient(inputType(0)), input(1), gradient(0), { axis, ...ADD }),
  ],
  GatherND: gatherNDGradient,
  // With reduction none, overwritten elements get no gradient; repeated indices are undefined there, as in ONNX.
  ScatterElements: ({ attributes: { axis, reduction }, gradient, input, inputType, needs, refuse }) => {
    if (reduction !== "none" && reduction !== "add") return refuse(UNSCATTERABLE);
    const keepRest = (): Tensor =>
      reduction === "add"
        ? gradient(0)
        : scatterElements(gradient(0), input(1), zeroGradient(inputType(2)), { axis });
    return [
      needs(0) ? keepRest() : undefined,
      undefined,
      needs(2) ? gatherElements(gradient(0), input(1), axis) : undefined,
    ];
  },
  ScatterND: ({ attributes: { reduction }, gradient, input, inputType, needs, refuse }) => {
    if (reduction !== "none" && reduction !== "add") return refuse(UNSCATTERABLE);
    const keepRest = (): Tensor =>
      reduction === "add" ? gradient(0) : scatterND(gradient(0), input(1), zeroGradient(inputType(2)));
    return [
      needs(0) ? keepRest() : undefined,
      undefined,
      needs(2) ? gatherND(gradient(0), input(1)) : undefined,
    ];
  },
  OneHot: { zero: "its input is an index" },
};
