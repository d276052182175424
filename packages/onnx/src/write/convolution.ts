import type { GraphNode, OpOf } from "@mp/graph";
import { int, ints, type OnnxAttributes } from "../model.js";
import { OWN_DOMAIN } from "../own-domain.js";
import { type Lowering, type LoweringTable, type NodeWriter, operandAt, typeAt } from "./lowering.js";
import { reshape } from "./movement.js";
import { onnxAttributes, plain } from "./plain.js";
import { product } from "./product.js";

const WINDOW = ["strides", "pads", "dilations", "group"] as const;

/** Lists all indices into a shape of these sizes; the last axis changes fastest. */
function places(sizes: readonly number[]): readonly (readonly number[])[] {
  return sizes.reduce<readonly (readonly number[])[]>(
    (all, size) => all.flatMap((head) => Array.from({ length: size }, (_, index) => [...head, index])),
    [[]],
  );
}

/**
 * dw[m, c, tap] = Σ dy[n, m, o] · x[n, c, o · stride + tap · dilation]. With channels moved before the batch,
 * each kernel tap corresponds to a slice of x, and one matrix product of dy with all slices gives dw.
 */
const decomposeConvWeightGradient: Lowering<"ConvWeightGradient"> = (node, operands, writer) => {
  const { group, kernelShape, strides, pads, dilations } = node.attributes;
  const [batch = 0, channels = 0, ...image] = typeAt(node, 0).shape;
  const [, results = 0, ...out] = typeAt(node, 1).shape;
  const [taps, columns] = [product(kernelShape), batch * product(out)];
  const perm = ints([1, 0, ...image.map((_, axis) => axis + 2)]);
  const [x, dy] = [0, 1].map((index) => writer.one("Transpose", [operandAt(operands, index)], { perm })) as [
    string,
    string,
  ];
  const [before, after] = [pads.slice(0, image.length), pads.slice(image.length)];
  const isPadded = pads.some((pad) => pad > 0);
  const padded = isPadded ? writer.one("Pad", [x, writer.ints([0, 0, ...before, 0, 0, ...after])]) : x;
  const grouped =
    group === 1
      ? padded
      : reshape(
          padded,
          [
            group,
            channels / group,
            batch,
            ...image.map((size, i) => size + (before[i] ?? 0) + (after[i] ?? 0)),
          ],
          writer,
        );
  const lead = group === 1 ? 2 : 3;
  const slices = places(kernelShape).map((tap) => {
    const starts = tap.map((place, axis) => place * (dilations[axis] ?? 1));
    const ends = starts.map((start, axis) => start + ((out[axis] ?? 1) - 1) * (strides[axis] ?? 1) + 1);
    const axes = tap.map((_, axis) => lead + axis);
    return writer.one("Slice", [grouped, ...[starts, ends, axes, strides].map((list) => writer.ints(list))]);
  });
  const [only = ""] = slices;
  const joined = taps === 1 ? only : writer.one("Concat", slices, { axis: int(lead - 2) });
  const products = multiplyByGroup(joined, dy, { group, channels, results, taps, columns }, writer);
  const last = [results, channels / group, ...kernelShape];
  if (taps === 1) return [reshape(products, last, writer)];
  const byTap = reshape(products, [results, taps, channels / group], writer);
  return [reshape(writer.one("Transpose", [byTap], { perm: ints([0, 2, 1]) }), last, writer)];
};

type Sizes = Readonly<Record<"group" | "channels" | "results" | "taps" | "columns", number>>;

/** dy · xᵀ for each group; the result is [results, taps · channels]. */
function multiplyByGroup(
  x: string,
  dy: string,
  { group, channels, results, taps, columns }: Sizes,
  writer: NodeWriter,
): string {
  if (group === 1) {
    const [a, b] = [reshape(dy, [results, columns], writer), reshape(x, [taps * channels, columns], writer)];
    return writer.one("Gemm", [a, b], { transB: int(1) });
  }
  const a = reshape(dy, [group, results / group, columns], writer);
  const b = reshape(x, [group, (taps * channels) / group, columns], writer);
  return writer.one("MatMul", [a, writer.one("Transpose", [b], { perm: ints([0, 2, 1]) })]);
}

const kernelShape = (node: GraphNode<"Conv" | "ConvTranspose">): OnnxAttributes => ({
  kernel_shape: ints(typeAt(node, 1).shape.slice(2)),
});

export const convolutionLowerings: LoweringTable<OpOf<"convolution">> = {
  Conv: plain([...WINDOW], kernelShape),
  ConvTranspose: plain([...WINDOW], (node) => ({
    ...kernelShape(node),
    output_padding: ints(node.attributes.outputPadding),
  })),
  ConvWeightGradient: (node, operands, writer) => {
    if (!writer.keepsOwnOps) return decomposeConvWeightGradient(node, operands, writer);
    const attributes = onnxAttributes(node, ...WINDOW, "kernelShape");
    return writer.emit("ConvWeightGradient", operands, attributes, { domain: OWN_DOMAIN });
  },
};
