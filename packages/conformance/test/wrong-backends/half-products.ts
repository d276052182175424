/** Products that keep every partial sum in the half of their operands, for some forms of matrices only. */
import { decode, elementCount, encode, type HostTensor, isHalf, type Op, type OpAttributes } from "@mp/graph";
import { hostData, toNumbers } from "../../src/host-data.js";
import { dataOf, evaluateNode, type HostKernel } from "./kernels.js";

type Round = (x: number) => number;

const roundingOf = ({ dtype }: HostTensor): Round | undefined =>
  isHalf(dtype) ? (x) => decode(dtype, encode(dtype, x)) : undefined;

/** The oracle's kernel, except that `sums` computes the elements of half dtypes. */
function inHalves<K extends Op>(
  op: K,
  sums: (
    operands: readonly HostTensor[],
    attributes: OpAttributes[K],
    round: Round,
    shape: readonly number[],
  ) => readonly number[],
): HostKernel<K> {
  return (inputs, attributes) => {
    const operands = dataOf(inputs);
    const results = evaluateNode(op, operands, attributes);
    const [first] = operands as [HostTensor];
    const [result, ...rest] = results as [HostTensor, ...HostTensor[]];
    const round = roundingOf(first);
    if (round === undefined) return results;
    return [hostData(result.dtype, sums(operands, attributes, round, result.shape), result.shape), ...rest];
  };
}

function product(
  a: readonly number[],
  b: readonly number[],
  [m, k, n]: readonly [number, number, number],
  round: Round,
): number[] {
  return Array.from({ length: m * n }, (_, at) => {
    let sum = 0;
    for (let p = 0; p < k; p++)
      sum = round(sum + (a[Math.floor(at / n) * k + p] ?? 0) * (b[p * n + (at % n)] ?? 0));
    return sum;
  });
}

/** Computes products in the half dtype where `isWrong` says so. */
export const halfMatMul = (isWrong: (a: HostTensor, b: HostTensor) => boolean): HostKernel<"MatMul"> => {
  const kernel = inHalves("MatMul", ([a, b], _, round, shape) => {
    const [x, y] = [a, b] as [HostTensor, HostTensor];
    const [m, k] = x.shape.length === 1 ? [1, x.shape[0] ?? 0] : x.shape.slice(-2);
    const n = y.shape.length === 1 ? 1 : (y.shape.at(-1) ?? 0);
    const sizes = [m ?? 0, k ?? 0, n] as const;
    const stack = elementCount(shape, "half sums") / Math.max(1, sizes[0] * n);
    const [left, right] = [toNumbers(x), toNumbers(y)];
    const part = (numbers: readonly number[], size: number, index: number): readonly number[] =>
      numbers.length === size ? numbers : numbers.slice(index * size, (index + 1) * size);
    return Array.from({ length: stack }, (_, index) =>
      product(part(left, sizes[0] * sizes[1], index), part(right, sizes[1] * n, index), sizes, round),
    ).flat();
  });
  return (inputs, attributes, outputs) => {
    const [a, b] = dataOf(inputs) as [HostTensor, HostTensor];
    const isPlain = isWrong(a, b) && isOneStack(a, b);
    return isPlain ? kernel(inputs, attributes, outputs) : evaluateNode("MatMul", [a, b], attributes);
  };
};

/** Whether one operand has no stack axes, or both have the same. */
const isOneStack = (a: HostTensor, b: HostTensor): boolean => {
  const [left, right] = [a, b].map(({ shape }) => shape.slice(0, -2).join());
  return left === right || left === "" || right === "";
};

export const halfGemm = (isWrong: (attributes: OpAttributes["Gemm"]) => boolean): HostKernel<"Gemm"> => {
  const kernel = inHalves("Gemm", (operands, attributes, round, shape) => {
    const { transA, transB, alpha, beta } = attributes;
    const turned = (x: HostTensor, turn: boolean): HostTensor =>
      turn ? (evaluateNode("Transpose", [x], { perm: [1, 0] })[0] as HostTensor) : x;
    const [a, b, c] = operands as [HostTensor, HostTensor, HostTensor | undefined];
    const [x, y] = [turned(a, transA), turned(b, transB)];
    const sizes = [x.shape[0] ?? 0, x.shape[1] ?? 0, y.shape[1] ?? 0] as const;
    const sums = product(toNumbers(x), toNumbers(y), sizes, round);
    const bias = c === undefined ? [] : toNumbers(evaluateNode("Expand", [c], { shape })[0] as HostTensor);
    return sums.map((sum, at) => round(alpha * sum + beta * (bias[at] ?? 0)));
  });
  return (inputs, attributes, outputs) =>
    isWrong(attributes)
      ? kernel(inputs, attributes, outputs)
      : evaluateNode("Gemm", dataOf(inputs), attributes);
};
