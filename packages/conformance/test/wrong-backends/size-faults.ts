/** Kernels that are right up to some size. With a threshold above all sizes of the suite, no fault shows. */
import { type HostTensor, isFloat, type Op } from "@mp/graph";
import type { KernelTable } from "@mp/graph/backend";
import { hostData, toNumbers } from "../../src/host-data.js";
import { integerData } from "../../src/samples/integers.js";
import {
  afterwards,
  changing,
  dataOf,
  evaluateNode,
  type HostKernel,
  oracleWithKernels,
  toBigints,
} from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

interface SizeFault extends Omit<WrongBackend, "factory" | "axes"> {
  /** Size above which the kernel is wrong. */
  readonly threshold: number;
  readonly kernels: (threshold: number) => KernelTable<HostTensor>;
}

/** Replaces the elements from `first` on by 0. */
function cutOff(given: HostTensor, first: number): HostTensor {
  const data = given.data.slice();
  data.fill((data instanceof BigInt64Array || data instanceof BigUint64Array ? 0n : 0) as never, first);
  return { ...given, data } as HostTensor;
}

/** Replaces the rows along the first axis from number `rows` on by 0. */
function withoutRows(given: HostTensor, rows: number): HostTensor {
  const [count = 1] = given.shape;
  return count > rows ? cutOff(given, (given.data.length / count) * rows) : given;
}

const isRowOfZeros = ({ dtype, shape, data }: HostTensor): boolean =>
  dtype === "f32" && shape.length === 2 && shape[0] === 1 && (data as Float32Array).every((x) => x === 0);

/** Leaves out the terms from number `rows` on in the product of a row of zeros with a matrix. */
const zerosByFewRows =
  (rows: number): HostKernel<"MatMul"> =>
  (operands, attributes) => {
    const [a, b] = dataOf(operands) as [HostTensor, HostTensor];
    const [, inner = 0] = a.shape;
    if (!isRowOfZeros(a) || inner <= rows || b.shape.length !== 2)
      return evaluateNode("MatMul", [a, b], attributes);
    return evaluateNode("MatMul", [a, cutOff(b, rows * (b.shape[1] ?? 1))], attributes);
  };

/** Gives 0 in the columns from number `columns` on in the product of a row of zeros, whatever the matrix holds. */
const zerosByFewColumns =
  (columns: number): HostKernel<"MatMul"> =>
  (operands, attributes) => {
    const [a, b] = dataOf(operands) as [HostTensor, HostTensor];
    const [result] = evaluateNode("MatMul", [a, b], attributes) as [HostTensor];
    return [isRowOfZeros(a) ? cutOff(result, columns) : result];
  };

/** Stores indices in a word that is too narrow. */
const wrapping =
  (limit: number) =>
  (indices: HostTensor): HostTensor =>
    hostData(
      "i32",
      toNumbers(indices).map((index) => index % limit),
      indices.shape,
    );

/** Restarts a cumulative sum after `length` elements. */
const restarting =
  (length: number): HostKernel<"CumSum"> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    const [right] = evaluateNode("CumSum", [x], attributes) as [HostTensor];
    if (x.shape.length !== 1 || x.dtype !== "f32" || right.data.length <= length || attributes.reverse)
      return [right];
    const lost = Number(right.data[length - 1]);
    return [
      hostData(
        "f32",
        toNumbers(right).map((sum, at) => (at < length ? sum : sum - lost)),
        x.shape,
      ),
    ];
  };

/** Does not read the elements from number `length` on along an axis. */
const seeingFew =
  (op: "ReduceMin", length: number): HostKernel<"ReduceMin"> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    const [axis = 0] = attributes.axes;
    const size = x.shape[axis] ?? 1;
    if (attributes.axes.length !== 1 || size <= length || !isFloat(x.dtype))
      return evaluateNode(op, [x], attributes);
    const inner = x.shape.slice(axis + 1).reduce((product, dimension) => product * dimension, 1);
    const numbers = toNumbers(x).map((value, at) =>
      Math.floor(at / inner) % size < length ? value : Number.POSITIVE_INFINITY,
    );
    return evaluateNode(op, [hostData(x.dtype, numbers, x.shape)], attributes);
  };

/** Loses the bits above a power of two when 1 is added to a counter. */
const narrowCounter =
  (dtype: "i32" | "i64", bits: number): HostKernel<"Add"> =>
  (operands, attributes) => {
    const inputs = dataOf(operands);
    const [sum] = evaluateNode("Add", inputs, attributes) as [HostTensor];
    const isStep =
      sum.dtype === dtype && sum.shape.length === 0 && inputs.some(({ data }) => Number(data[0]) === 1);
    if (!isStep) return [sum];
    return [
      integerData(
        dtype,
        toBigints(sum).map((x) => BigInt.asIntN(bits, x)),
        [],
      ),
    ];
  };

const FLOAT_MAPS = ["Tanh", "Sqrt", "Sigmoid", "Neg"] as const;
const sized = (op: Op): string => `size/${op}/beyond-65-536-elements`;
const gradientChecks = (...shapes: readonly string[]): readonly string[] =>
  shapes.map((shape) => `finite-check/f32-${shape}/a-step-sees-every-gradient`);

const table: readonly SizeFault[] = [
  {
    fault: "a row of zeros is multiplied by the first 64 rows of a matrix",
    threshold: 64,
    kernels: (rows) => ({ MatMul: zerosByFewRows(rows) }),
    among: /^finite-check/,
    named: [
      ...gradientChecks("130x67", "1030x70", "32800x2", "70x3x5x7"),
      "finite-check/f32-130x67/a-window-sees-every-gradient",
    ],
    consequences: [/^finite-check\/.*\/a-step-sees-all-new-parameters$/],
  },
  {
    fault: "a row of zeros is multiplied by the first 4 096 columns of a matrix",
    threshold: 4_096,
    kernels: (columns) => ({ MatMul: zerosByFewColumns(columns) }),
    among: /^finite-check/,
    named: gradientChecks("2x32800"),
  },
  {
    fault: "functions of one operand stop at 65 536 elements",
    threshold: 65_536,
    kernels: (count) => changing(FLOAT_MAPS, (result) => cutOff(result, count)),
    among: /\/(Tanh|Sqrt|Sigmoid|Neg)/,
    named: FLOAT_MAPS.map(sized),
  },
  {
    fault: "differences stop at 4 096 rows",
    threshold: 4_096,
    kernels: (rows) => ({
      Sub: afterwards("Sub", (result) => (result.shape.length > 1 ? withoutRows(result, rows) : result)),
    }),
    among: /\/Sub/,
    named: [sized("Sub")],
  },
  {
    fault: "products stop at 65 535 matrices of a batch",
    threshold: 65_535,
    kernels: (count) => ({
      MatMul: afterwards("MatMul", (result) =>
        result.shape.length > 2 ? withoutRows(result, count) : result,
      ),
    }),
    among: /\/MatMul/,
    named: [sized("MatMul")],
  },
  {
    fault: "softmax stops at 4 096 rows",
    threshold: 4_096,
    kernels: (rows) => ({
      Softmax: afterwards("Softmax", (result) =>
        result.shape.length > 1 ? withoutRows(result, rows) : result,
      ),
    }),
    among: /\/Softmax-|\/Softmax\//,
    named: [sized("Softmax")],
    consequences: [/^summation\/Softmax-\w+\/5000-terms-of-columns$/],
  },
  {
    fault: "minima look at the first 1 000 of an axis",
    threshold: 1_000,
    kernels: (length) => ({ ReduceMin: seeingFew("ReduceMin", length) }),
    among: /\/ReduceMin/,
    named: [sized("ReduceMin")],
  },
  {
    fault: "places of the largest are kept in 16 bits",
    threshold: 65_536,
    kernels: (limit) => ({ ArgMax: afterwards("ArgMax", wrapping(limit)) }),
    among: /\/ArgMax/,
    named: [sized("ArgMax")],
  },
  {
    fault: "indices of rows are kept in 16 bits",
    threshold: 65_536,
    kernels: (limit) => ({
      Gather: (operands, attributes) => {
        const [x, indices] = dataOf(operands) as [HostTensor, HostTensor];
        return evaluateNode("Gather", [x, wrapping(limit)(indices)], attributes);
      },
    }),
    among: /\/Gather-|\/Gather\//,
    named: [sized("Gather")],
  },
  {
    fault: "running sums begin again after 65 536 terms",
    threshold: 65_536,
    kernels: (length) => ({ CumSum: restarting(length) }),
    among: /\/CumSum/,
    named: [sized("CumSum")],
  },
  {
    fault: "convolutions stop at 4 096 images",
    threshold: 4_096,
    kernels: (count) => ({ Conv: afterwards("Conv", (result) => withoutRows(result, count)) }),
    among: /\/Conv-f32|\/Conv\//,
    named: [sized("Conv")],
  },
  {
    fault: "layers are normalized in 4 096 rows",
    threshold: 4_096,
    kernels: (rows) => ({
      LayerNormalization: afterwards("LayerNormalization", (result) => withoutRows(result, rows)),
    }),
    among: /\/LayerNormalization/,
    named: [sized("LayerNormalization")],
  },
  {
    fault: "tensors of three axes are transposed up to 65 536 elements",
    threshold: 65_536,
    kernels: (count) => ({
      Transpose: afterwards("Transpose", (result) =>
        result.shape.length === 3 ? cutOff(result, count) : result,
      ),
    }),
    among: /\/Transpose/,
    named: [sized("Transpose")],
  },
  {
    fault: "counters of 64 bits have 32",
    threshold: 32,
    kernels: (bits) => ({ Add: narrowCounter("i64", bits) }),
    among: /\/Add-i64/,
    named: ["integer/Add-i64/counters-go-on-beyond-2-to-the-32"],
  },
  {
    fault: "counters of steps have 24 bits",
    threshold: 24,
    kernels: (bits) => ({ Add: narrowCounter("i32", bits) }),
    among: /\/Add-i32|^random/,
    named: ["random/step/counters-go-on-to-2-to-the-31"],
  },
];

const AXES = ["op", "size", "reduce", "summation", "finite-check", "integer", "rare", "random"];

const at = (
  { threshold, kernels, consequences = [], ...rest }: SizeFault,
  size: number = threshold,
): WrongBackend => ({
  ...rest,
  axes: AXES,
  factory: () => oracleWithKernels(kernels(size)),
  consequences: [...consequences, ...Object.keys(kernels(size)).map((op) => new RegExp(`^size/${op}-`))],
});

export const sizeFaults: readonly WrongBackend[] = table.map((fault) => at(fault));

/** The same faults above the size of every case, so that nothing may fail. */
export const unreachableFaults: readonly WrongBackend[] = table.map((fault) => at(fault, 10_000_000));
