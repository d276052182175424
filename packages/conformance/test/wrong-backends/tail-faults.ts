/** Kernels with wrong last elements, at lengths that leave one particular remainder after whole registers. */
import type { HostTensor, Op } from "@mp/graph";
import type { KernelTable } from "@mp/graph/backend";
import { hostData, toNumbers } from "../../src/host-data.js";
import { afterwards, changing, dataOf, evaluateNode, type HostKernel, oracleWithKernels } from "./kernels.js";
import type { WrongBackend } from "./wrong-backend.js";

/** Whether a length is more than one register and leaves the remainder. */
const leaves =
  (remainder: number, register: number) =>
  (length: number): boolean =>
    length > register && length % register === remainder;

type Applies = (length: number) => boolean;

const changed = (
  given: HostTensor,
  f: (x: number, at: number, all: readonly number[]) => number,
): HostTensor => {
  const numbers = toNumbers(given);
  return hostData(
    given.dtype,
    numbers.map((x, at) => f(x, at, numbers)),
    given.shape,
  );
};

/** Replaces the last element along the last axis by the one before it. */
const asNeighbour =
  (applies: Applies) =>
  (given: HostTensor): HostTensor => {
    const length = given.shape.at(-1) ?? 0;
    if (!applies(length)) return given;
    return changed(given, (x, at, all) => (at % length === length - 1 ? (all[at - 1] ?? x) : x));
  };

/** Replaces the last element along the last axis by another number. */
const lastBecomes = (given: HostTensor, applies: Applies, value: number): HostTensor => {
  const length = given.shape.at(-1) ?? 0;
  if (!applies(length)) return given;
  return changed(given, (x, at) => (at % length === length - 1 ? value : x));
};

/** A reduction of the last axis that reads another number in place of the last element. */
const reducing =
  <K extends "ReduceSum" | "ReduceMax" | "ReduceProd">(
    op: K,
    applies: Applies,
    seen: (x: number) => number,
  ): HostKernel<K> =>
  (operands, attributes) => {
    const [x] = dataOf(operands) as [HostTensor];
    const length = x.shape.at(-1) ?? 0;
    const isAlong = attributes.axes.length === 1 && attributes.axes[0] === x.shape.length - 1;
    if (!isAlong || !applies(length) || x.dtype === "u64") return evaluateNode(op, [x], attributes);
    return evaluateNode(
      op,
      [changed(x, (each, at) => (at % length === length - 1 ? seen(each) : each))],
      attributes,
    );
  };

/** Leaves out the last term of a sum. */
const shortProducts =
  (applies: Applies): HostKernel<"MatMul"> =>
  (operands, attributes) => {
    const [a, b] = dataOf(operands) as [HostTensor, HostTensor];
    return evaluateNode("MatMul", [lastBecomes(a, applies, 0), b], attributes);
  };

/** Replaces the last channel by the one before it in depthwise convolutions. */
const lastChannel =
  (applies: Applies): HostKernel<"Conv"> =>
  (operands, attributes) => {
    const results = evaluateNode("Conv", dataOf(operands), attributes);
    const [y] = results as [HostTensor];
    const [, channels = 1, ...rest] = y.shape;
    if (attributes.group !== channels || !applies(channels)) return results;
    const plane = rest.reduce((product, size) => product * size, 1);
    return [
      changed(y, (x, at, all) =>
        Math.floor(at / plane) % channels === channels - 1 ? (all[at - plane] ?? x) : x,
      ),
    ];
  };

/** Subtracts a vector from a scalar in whole registers only. */
const scalarOnTheLeft =
  (applies: Applies): HostKernel<"Sub"> =>
  (operands, attributes) => {
    const [a, b] = dataOf(operands) as [HostTensor, HostTensor];
    const [right] = evaluateNode("Sub", [a, b], attributes) as [HostTensor];
    if (a.shape.length > 0 || b.shape.length !== 1 || !applies(right.data.length)) return [right];
    const last = right.data.length - 1;
    const kept = toNumbers(b);
    return [changed(right, (x, at) => (at === last ? (kept[at] ?? x) : x))];
  };

interface TailFault {
  readonly fault: string;
  readonly kernels: KernelTable<HostTensor>;
  /** Ops whose tail cases must fail in f32. */
  readonly ops: readonly Op[];
}

const maps = (applies: Applies, ...ops: readonly Op[]): KernelTable<HostTensor> =>
  changing(ops, asNeighbour(applies));

const table: readonly TailFault[] = [
  {
    fault: "functions repeat an element where 11 are left of 16",
    kernels: maps(leaves(11, 16), "Exp", "Tanh", "Abs"),
    ops: ["Exp", "Tanh", "Abs"],
  },
  {
    fault: "comparisons repeat an element where 11 are left of 16",
    kernels: maps(leaves(11, 16), "Greater", "Equal"),
    ops: ["Greater", "Equal"],
  },
  {
    fault: "a scalar on the left is lost where 11 are left of 16",
    kernels: { Sub: scalarOnTheLeft(leaves(11, 16)) },
    ops: ["Sub"],
  },
  {
    fault: "choices repeat an element where 13 are left of 32",
    kernels: maps(leaves(13, 32), "Where"),
    ops: ["Where"],
  },
  {
    fault: "sums add the last term twice where 11 are left of 16",
    kernels: { ReduceSum: reducing("ReduceSum", leaves(11, 16), (x) => 2 * x) },
    ops: ["ReduceSum"],
  },
  {
    fault: "maxima leave out the last of 14 that are left of 16",
    kernels: { ReduceMax: reducing("ReduceMax", leaves(14, 16), () => -127) },
    ops: ["ReduceMax"],
  },
  {
    fault: "shares of the last repeat where 11 are left of 16",
    kernels: maps(leaves(11, 16), "Softmax", "LayerNormalization"),
    ops: ["Softmax", "LayerNormalization"],
  },
  {
    fault: "products leave out the last term where 15 are left of 16",
    kernels: { MatMul: shortProducts(leaves(15, 16)) },
    ops: ["MatMul"],
  },
  {
    fault: "convolutions of each channel repeat one where 6 are left of 8",
    kernels: { Conv: lastChannel(leaves(6, 8)) },
    ops: ["Conv"],
  },
  {
    fault: "rows are gathered, concatenated and transposed in registers of 8, of which 6 are left",
    kernels: maps(leaves(6, 8), "Gather", "Concat", "Transpose"),
    ops: ["Gather", "Concat", "Transpose"],
  },
  {
    fault: "running sums and searches stop where 11 are left of 16",
    kernels: {
      CumSum: afterwards("CumSum", asNeighbour(leaves(11, 16))),
      ArgMax: (operands, attributes) => {
        const [x] = dataOf(operands) as [HostTensor];
        const isLast = attributes.axis === x.shape.length - 1 && x.dtype !== "u64";
        return evaluateNode("ArgMax", [isLast ? lastBecomes(x, leaves(11, 16), 0) : x], attributes);
      },
    },
    ops: ["CumSum", "ArgMax"],
  },
];

const AXES = ["op", "integer", "size", "reduce", "summation", "rare", "tail"];

/** Selects the cases in f32, to save time. */
const inF32 = (ops: readonly Op[]): RegExp => new RegExp(`/(${ops.join("|")})(-f32)?/`);

/** Faults that only cases over all lengths detect. */
export const tailFaults: readonly WrongBackend[] = [
  ...table.map(
    ({ fault, kernels, ops }): WrongBackend => ({
      fault,
      factory: () => oracleWithKernels(kernels),
      axes: AXES,
      among: inF32(ops),
      named: ops.map((op) => `tail/${op}-f32/lengths-1-to-70`),
      consequences: [/^tail\//],
    }),
  ),
  {
    fault: "casts between floats repeat an element where 6 are left of 8",
    factory: () =>
      oracleWithKernels({
        Cast: (operands, attributes) => {
          const [x] = dataOf(operands) as [HostTensor];
          const results = evaluateNode("Cast", [x], attributes);
          const isRounded = x.dtype === "f32" && (attributes.to === "f16" || attributes.to === "bf16");
          return isRounded ? results.map(asNeighbour(leaves(6, 8))) : results;
        },
      }),
    axes: [...AXES, "cast"],
    among: /\/Cast-f32|^cast\/f32/,
    named: ["f16", "bf16"].map((to) => `tail/Cast-f32-to-${to}/lengths-1-to-70`),
    consequences: [/^tail\//],
  },
];
