/** Forms of operators for a strict ONNX reader, which refuses the standard forms for some operands. */
import {
  floatFormats,
  type GraphNode,
  isComputeFloat,
  isFloat,
  isHalf,
  rangeValues,
  type ScatterOp,
} from "@mp/graph";
import { int } from "@mp/onnx/write";
import { inF32 } from "../lowerings/in-f32.js";
import { choose } from "../lowerings/integers.js";
import { inDType, type ProducerOf } from "../lowerings/lower-node.js";
import { convAttributes, reshape, transpose } from "../lowerings/operators.js";
import {
  at,
  firstApplicable,
  type OwnLowering,
  type OwnLowerings,
  operandType,
} from "../lowerings/own-lowering.js";
import { maxPoolGradient as framedGradient } from "../lowerings/pooling.js";
import { rowLossLowerings } from "../lowerings/row-losses.js";
import { topK } from "./top-k.js";

/**
 * Crops the data to the size of the indices along all axes but the gathered axis; no index reads the rest. Copies what
 * a Slice has cropped.
 */
export const gatherElements =
  (producerOf: ProducerOf): OwnLowering<"GatherElements"> =>
  (node, [x = "", indices = ""], writer, standard) => {
    const { shape } = operandType(node);
    const isSliced = producerOf(operandType(node))?.op === "Slice";
    const wanted = node.inputs[1]?.shape ?? [];
    const axes = shape.flatMap((size, axis) =>
      axis !== node.attributes.axis && (isSliced || (wanted[axis] ?? size) < size) ? [axis] : [],
    );
    if (axes.length === 0) return undefined;
    // Crops by Gather, because the engine would move a Slice behind the operator again, and by places from the end,
    // because it would leave out a Gather of every place.
    const part = axes.reduce((whole, axis) => {
      const places = Array.from({ length: wanted[axis] ?? 0 }, (_, place) => place - (shape[axis] ?? 0));
      return writer.one("Gather", [whole, writer.ints(places)], { axis: int(axis) });
    }, x);
    return standard([part, indices]);
  };

/** Replaces Tile by Identity for a scalar, which has no axis to repeat along. */
const tile: OwnLowering<"Tile"> = (node, operands, writer) =>
  operandType(node).shape.length === 0 ? [writer.one("Identity", [at(operands, 0)])] : undefined;

/** Expands scale and bias to the full normalized shape. */
const layerNormalization: OwnLowering<"LayerNormalization"> = (
  node,
  [x = "", ...others],
  writer,
  standard,
) => {
  const shape = operandType(node).shape.slice(node.attributes.axis);
  const isWhole = node.inputs.slice(1).every((value) => value.shape.length === shape.length);
  if (isWhole) return undefined;
  return standard([x, ...others.map((name) => writer.one("Expand", [name, writer.ints(shape)]))]);
};

/**
 * Writes a Gemm as MatMul and Add, because the reader accepts only a two-dimensional C and a nonzero inner size. In a
 * half dtype, a Gemm with C or alpha is computed in f32 and rounded once; a plain product stays as it is.
 */
const gemm: OwnLowering<"Gemm"> = (node, operands, writer, standard) => {
  const { alpha, beta, transA, transB } = node.attributes;
  const { dtype, shape } = operandType(node);
  const [a = "", b = "", c] = operands;
  if (isHalf(dtype) && (c !== undefined || alpha !== 1)) {
    const wide = operands.map((name) => writer.cast(name, "f32"));
    const [sum = ""] = gemm(inDType(node, "f32") as GraphNode<"Gemm">, wide, writer, standard) ?? [];
    return [writer.cast(sum, dtype)];
  }
  const scale = (x: string, factor: number): string =>
    factor === 1 ? x : writer.one("Mul", [x, writer.scalar(factor, dtype)]);
  const turn = (x: string, isTurned: boolean): string => (isTurned ? transpose(x, [1, 0], writer) : x);
  const sum =
    shape[transA ? 0 : 1] === 0
      ? writer.one("Expand", [writer.scalar(0, dtype), writer.ints(node.outputs[0]?.shape ?? [])])
      : writer.one("MatMul", [turn(scale(a, alpha), transA), turn(b, transB)]);
  return [c === undefined ? sum : writer.one("Add", [sum, scale(c, beta)])];
};

/** Multiplies two vectors as matrices, because a fusing pass of the engine crashes on a product that is a scalar. */
const matMul: OwnLowering<"MatMul"> = (node, [a = "", b = ""], writer) => {
  if (node.outputs[0]?.shape.length !== 0) return undefined;
  const { shape } = operandType(node);
  const product = writer.one("MatMul", [
    reshape(a, [1, ...shape], writer),
    reshape(b, [...shape, 1], writer),
  ]);
  return [writer.one("Squeeze", [product])];
};

/**
 * Writes a Reshape to a scalar as Squeeze, because the fusing pass also crashes on products reshaped to a scalar. Gives
 * the axes, because the engine does not compile an Unsqueeze of an input before a Squeeze without them.
 */
const reshapeToScalar: OwnLowering<"Reshape"> = (node, [x = ""], writer) =>
  node.attributes.shape.length === 0 && operandType(node).shape.length > 0
    ? [writer.one("Squeeze", [x, writer.ints([...operandType(node).shape.keys()])])]
    : undefined;

/**
 * Pads the image by a Pad node if a pad is not smaller than the kernel. After it, a Mul by a hidden 1 keeps the
 * optimizer from moving the pads back into the Conv.
 */
const conv: OwnLowering<"Conv"> = (node, [x = "", ...others], writer) => {
  const { pads } = node.attributes;
  const kernel = node.inputs[1]?.shape.slice(2) ?? [];
  const rank = kernel.length;
  if (pads.every((pad, index) => pad < (kernel[index % rank] ?? 0))) return undefined;
  const margins = [0, 0, ...pads.slice(0, rank), 0, 0, ...pads.slice(rank)];
  const framed = writer.one("Pad", [x, writer.ints(margins)]);
  const image = writer.one("Mul", [framed, writer.scalar(1, operandType(node).dtype)]);
  const window = { ...node.attributes, pads: pads.map(() => 0) };
  return [writer.one("Conv", [image, ...others], convAttributes(kernel, window))];
};

/** Computes bf16 in f32 where the bf16 kernel is wrong. */
const wide =
  <K extends "ConvTranspose" | "ConvWeightGradient">(
    isWrong: (attributes: GraphNode<K>["attributes"]) => boolean,
  ): OwnLowering<K> =>
  (node, operands, writer, standard) => {
    const { dtype } = operandType(node);
    if (dtype !== "bf16" || !isWrong(node.attributes)) return undefined;
    const [first = "", ...others] = operands;
    const wideOthers = others.map((name) => writer.cast(name, "f32"));
    return [inF32(node, first, writer, (x) => at(standard([x, ...wideOthers], "f32"), 0))];
  };

/** Evaluates a Range, whose operands are all constants, to a constant. */
const range: OwnLowering<"Range"> = (node, _operands, writer) => [writer.initializer(rangeValues(node))];

/** Selects bools by logic ops and i32 by arithmetic, because the kernel may compute both in f32. */
const where: OwnLowering<"Where"> = (node, operands, writer, standard) => {
  const dtype = node.inputs[1]?.dtype;
  const [condition, x, y] = [at(operands, 0), at(operands, 1), at(operands, 2)];
  if (dtype === "bool") return [choose([condition, x, y], dtype, writer)];
  if (dtype !== "i32") return standard(operands);
  const difference = writer.one("Mul", [writer.one("Sub", [x, y]), writer.cast(condition, dtype)]);
  return [writer.one("Add", [y, difference])];
};

/**
 * Fills the result with the pad value if the operand has no elements, because the reader takes an empty constant for
 * one element. Pads with 0 and adds an integer pad value afterwards if the kernel would round it to f32.
 */
const pad: OwnLowering<"Pad"> = (node, operands, writer, standard) => {
  const { dtype, shape } = operandType(node);
  const { mode, pads, value } = node.attributes;
  if (shape.includes(0)) {
    const whole = node.outputs[0]?.shape ?? [];
    return [writer.one("Expand", [writer.scalar(value, dtype), writer.ints(whole)])];
  }
  if (mode !== "constant") return undefined;
  if (!isFloat(dtype) && Math.fround(value) !== value) {
    const origin = writer.scalar(value, dtype);
    const distance = writer.one("Sub", [at(operands, 0), origin]);
    return [writer.one("Add", [writer.one("Pad", [distance, writer.ints(pads)]), origin])];
  }
  // The kernel loses the sign of a value of -0, and Neg of a constant does too; Mul keeps it.
  if (!Object.is(value, -0) || !isComputeFloat(dtype)) return undefined;
  const opposite = (name: string): string => writer.one("Mul", [name, writer.scalar(-1, dtype)]);
  return [opposite(at(standard([opposite(at(operands, 0))]), 0))];
};

const scatter: OwnLowering<ScatterOp> = (node, [data = ""]) =>
  node.inputs[2]?.shape.includes(0) ? [data] : undefined;

/** The standard ONNX form, for ops that have another form on ONNX Runtime. */
const plain: OwnLowering = (_node, operands, _writer, standard) => standard(operands);

/** Raises -∞ and the lowest finite value to the next value; the kernel finds no maximum in windows of these two. */
const maxPoolGradient: OwnLowering<"MaxPoolGradient"> = (
  node,
  [dy = "", x = "", y = ""],
  writer,
  standard,
) => {
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype)) return undefined;
  const { maxFinite, maxExponent, fractionBits } = floatFormats[dtype];
  const low = writer.scalar(2 ** (maxExponent - fractionBits) - maxFinite, dtype);
  return standard([dy, writer.one("Where", [writer.one("Less", [x, low]), low, x]), y]);
};

export const acceptedForms: OwnLowerings = {
  Gemm: gemm,
  MatMul: matMul,
  Reshape: reshapeToScalar,
  Conv: conv,
  ConvTranspose: wide<"ConvTranspose">(({ strides }) => strides.some((stride) => stride > 1)),
  ConvWeightGradient: wide<"ConvWeightGradient">(({ group }) => group > 1),
  Range: range,
  Where: where,
  Pad: pad,
  NegativeLogLikelihoodLoss: rowLossLowerings.NegativeLogLikelihoodLoss,
  TopK: topK,
  MaxPoolGradient: firstApplicable(framedGradient, maxPoolGradient),
  ScatterElements: scatter as OwnLowering<"ScatterElements">,
  ScatterND: scatter as OwnLowering<"ScatterND">,
  Sub: plain as OwnLowering<"Sub">,
  Clip: plain as OwnLowering<"Clip">,
  ReduceMax: plain as OwnLowering<"ReduceMax">,
  ReduceMin: plain as OwnLowering<"ReduceMin">,
  Tile: tile,
  LayerNormalization: layerNormalization,
};
