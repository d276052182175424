/** Kernels that confuse two axes where all sides are equal, so that no shape is wrong. */
import type { HostTensor, Op, OpAttributes } from "@mp/graph";
import type { KernelTable } from "@mp/graph/backend";
import { dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

const isCube = ({ shape }: HostTensor, rank = 2): boolean =>
  shape.length >= rank && (shape[0] ?? 0) > 1 && shape.every((side) => side === shape[0]);

const turned = (x: HostTensor, perm: readonly number[]): HostTensor => {
  const [result] = evaluateNode("Transpose", [x], { perm });
  return result as HostTensor;
};

/** Exchanges two axes. */
const exchanged = (x: HostTensor, a: number, b: number): HostTensor =>
  turned(
    x,
    x.shape.map((_, axis) => (axis === a ? b : axis === b ? a : axis)),
  );

const shaped = (x: HostTensor, shape: readonly number[]): HostTensor => ({ ...x, shape }) as HostTensor;

/** Counts the axis from the end if the operand is a cube of three axes or more. */
const counted =
  <K extends Op>(
    op: K,
    axisOf: (attributes: OpAttributes[K], flip: (axis: number) => number) => OpAttributes[K],
  ): HostKernel<K> =>
  (operands, attributes) => {
    const data = dataOf(operands);
    const [x] = data as [HostTensor];
    if (!isCube(x, 3)) return evaluateNode(op, data, attributes);
    return evaluateNode(
      op,
      data,
      axisOf(attributes, (axis) => x.shape.length - 1 - axis),
    );
  };

const along = <K extends "Softmax" | "CumSum" | "Concat" | "ScatterElements" | "GatherElements">(
  op: K,
): HostKernel<K> => counted(op, (attributes, flip) => ({ ...attributes, axis: flip(attributes.axis) }));

/** Adds a vector down the columns. */
const downTheColumns: HostKernel<"Add"> = (operands, attributes) => {
  const [a, b] = dataOf(operands) as [HostTensor, HostTensor];
  const isRow = b.shape.length === 1 && isCube(a) && a.shape.length === 2 && a.shape[0] === b.shape[0];
  return evaluateNode("Add", [a, isRow ? shaped(b, [...b.shape, 1]) : b], attributes);
};

/** Takes the mask of each head for that of each batch. */
const masksOfBatches: HostKernel<"Attention"> = (operands, attributes) => {
  const [query, key, value, mask] = dataOf(operands) as [HostTensor, HostTensor, HostTensor, HostTensor?];
  if (mask?.shape.length !== 3 || mask.shape[0] === 1 || query.shape[0] !== query.shape[1])
    return evaluateNode("Attention", dataOf(operands), attributes);
  const [batch = 1, ...rest] = mask.shape;
  return evaluateNode("Attention", [query, key, value, shaped(mask, [batch, 1, ...rest])], attributes);
};

/** Scales rows instead of columns by a vector that has as many elements as there are rows. */
const otherChannels: HostKernel<"BatchNormalization"> = (operands, attributes) => {
  const [x, ...parts] = dataOf(operands) as [HostTensor, ...HostTensor[]];
  if (!isCube(x)) return evaluateNode("BatchNormalization", [x, ...parts], attributes);
  const [y, ...statistics] = evaluateNode("BatchNormalization", [exchanged(x, 0, 1), ...parts], attributes);
  return [exchanged(y as HostTensor, 0, 1), ...statistics];
};

interface SideFault {
  readonly fault: string;
  readonly kernels: KernelTable<HostTensor>;
  readonly ops: readonly Op[];
}

const table: readonly SideFault[] = [
  {
    fault: "cubes are transposed in the opposite direction",
    kernels: {
      Transpose: (operands, { perm }) => {
        const [x] = dataOf(operands) as [HostTensor];
        return [turned(x, isCube(x) ? perm.map((_, axis) => perm.indexOf(axis)) : perm)];
      },
    },
    ops: ["Transpose"],
  },
  {
    fault: "a row is added down the columns of a square",
    kernels: { Add: downTheColumns },
    ops: ["Add"],
  },
  {
    fault: "squares are multiplied as if none were transposed",
    kernels: {
      Gemm: (operands, attributes) => {
        const data = dataOf(operands);
        const isSquare = data.slice(0, 2).every((x) => isCube(x));
        return evaluateNode("Gemm", data, isSquare ? { ...attributes, transB: false } : attributes);
      },
    },
    ops: ["Gemm"],
  },
  {
    fault: "the second of two squares of a batch is transposed",
    kernels: {
      MatMul: (operands, attributes) => {
        const [a, b] = dataOf(operands) as [HostTensor, HostTensor];
        return evaluateNode(
          "MatMul",
          [a, isCube(b) && b.shape.length === 3 ? exchanged(b, 1, 2) : b],
          attributes,
        );
      },
    },
    ops: ["MatMul"],
  },
  {
    fault: "sums of cubes run along the axis counted from the end",
    kernels: {
      ReduceSum: counted("ReduceSum", (attributes, flip) => ({
        ...attributes,
        axes: attributes.axes.map(flip).sort(),
      })),
    },
    ops: ["ReduceSum"],
  },
  {
    fault: "shares, running sums and pieces of cubes run along the other axis",
    kernels: {
      Softmax: along("Softmax"),
      CumSum: along("CumSum"),
      Concat: along("Concat"),
    },
    ops: ["Softmax", "CumSum", "Concat"],
  },
  {
    fault: "elements of cubes are read and written along the other axis",
    kernels: {
      GatherElements: along("GatherElements"),
      ScatterElements: along("ScatterElements"),
    },
    ops: ["GatherElements", "ScatterElements"],
  },
  {
    fault: "masks of heads are those of batches where both are as many",
    kernels: { Attention: masksOfBatches },
    ops: ["Attention"],
  },
  {
    fault: "kernels of as many channels as results are read the other way around",
    kernels: {
      Conv: (operands, attributes) => {
        const [x, w, ...bias] = dataOf(operands) as [HostTensor, HostTensor, ...HostTensor[]];
        return evaluateNode(
          "Conv",
          [x, isCube(w) && attributes.group === 1 ? exchanged(w, 0, 1) : w, ...bias],
          attributes,
        );
      },
    },
    ops: ["Conv"],
  },
  {
    fault: "as many images as channels are normalized as channels",
    kernels: { BatchNormalization: otherChannels },
    ops: ["BatchNormalization"],
  },
  {
    fault: "products of squares by letters are transposed",
    kernels: {
      Einsum: (operands, attributes) => {
        const data = dataOf(operands);
        const results = evaluateNode("Einsum", data, attributes);
        const isBatch = data.length === 2 && data.every((x) => isCube(x) && x.shape.length === 3);
        return results.map((y) => (isBatch && y.shape.length === 3 ? exchanged(y, 0, 1) : y));
      },
    },
    ops: ["Einsum"],
  },
];

const AXES = ["op", "integer", "size", "reduce", "summation", "rare", "tail", "equal-sides"];

/** Faults that only cases with equal sides detect. */
export const equalSideFaults: readonly WrongBackend[] = table.map(
  ({ fault, kernels, ops }): WrongBackend => ({
    fault,
    factory: () => oracleWithKernels(kernels),
    axes: AXES,
    among: new RegExp(`/(${ops.join("|")})(-f32)?/`),
    named: ops.map((op) => `equal-sides/${op}-f32/every-axis`),
    consequences: [/^equal-sides\//],
  }),
);
