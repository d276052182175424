/**
 * The allowed results of a sum that accumulates in a half. Each of n partial sums is off by at most one ulp of the
 * largest that it can be, and the whole sum by no more than the magnitudes of its terms. Terms of one sign never sum to
 * 0 or to the other sign.
 */
import {
  ADDING_OPS,
  type AddingOp,
  type ComputeDType,
  floatFormats,
  type HostTensor,
  rowsOf,
} from "@mp/graph";
import { toNumbers } from "../../host-data.js";

export interface LooseSum {
  /** The backend's result. */
  readonly got: HostTensor | undefined;
  /** The f32 result. */
  readonly want: HostTensor;
  /** The f32 result for the magnitudes of all operands. */
  readonly magnitudes: HostTensor;
  /** The terms of the sum: the first operand. */
  readonly terms: HostTensor;
}

/** The allowed range of one result. */
interface Reach {
  /** How far it may be from the f32 result. */
  readonly slack: number;
  /** The largest possible partial sum. */
  readonly largest: number;
  /** Whether the sum alone decides the sign. */
  readonly signed: boolean;
}

interface Terms {
  readonly magnitude: number;
  readonly numbers: readonly number[];
  /** Share of the whole that n partial sums lose; at most all of it. */
  readonly loss: number;
}

const total = (numbers: readonly number[], f: (x: number) => number): number =>
  numbers.reduce((sum, x) => sum + f(x), 0);
const square = (x: number): number => x * x;

const sum = ({ magnitude, loss }: Terms): Reach => ({
  slack: loss * magnitude,
  largest: magnitude,
  signed: true,
});
const mean = (terms: Terms): Reach => ({ ...sum(terms), largest: total(terms.numbers, Math.abs) });
const root = (terms: Terms): Reach => ({ ...sum(terms), largest: total(terms.numbers, square) });
/** No exponential is above 1. */
const share = ({ numbers, loss }: Terms): Reach => ({ slack: loss, largest: numbers.length, signed: true });
/** Scaled by 1: no element of n is more than √n standard deviations from the mean. */
const normalization = ({ numbers }: Terms): Reach => ({
  slack: Math.sqrt(numbers.length),
  largest: total(numbers, square),
  signed: false,
});
/** Only checked to be finite: the effect of a wrong mean depends on all operands. */
const finite = ({ numbers }: Terms): Reach => ({
  slack: Number.POSITIVE_INFINITY,
  largest: total(numbers, Math.abs),
  signed: false,
});

const reachTable: Readonly<Record<AddingOp, (terms: Terms) => Reach>> = {
  ...rowsOf(ADDING_OPS, () => sum),
  Attention: finite,
  ReduceMean: mean,
  ReduceL2: root,
  AveragePool: mean,
  Softmax: share,
  LayerNormalization: normalization,
  RMSNormalization: normalization,
  BatchNormalization: normalization,
  BatchNormalizationGradient: finite,
};

/**
 * undefined where a sum that accumulates in a half may give `got`. A non-finite result requires a sum that may
 * overflow.
 */
export function looseProblem(
  op: AddingOp,
  dtype: ComputeDType,
  { got, want, magnitudes, terms }: LooseSum,
): string | undefined {
  if (got === undefined) return "is missing";
  const { fractionBits, maxFinite } = floatFormats[dtype];
  const numbers = toNumbers(terms);
  const loss = Math.min(1, numbers.length * 2 ** -fractionBits);
  const [wanted, sizes, results] = [want, magnitudes, got].map(toNumbers) as [number[], number[], number[]];
  for (const [at, expected] of wanted.entries()) {
    const result = results[at] ?? Number.NaN;
    const magnitude = Math.abs(sizes[at] ?? 0);
    const { slack, largest, signed } = reachTable[op]({ magnitude, numbers, loss });
    if (!Number.isFinite(result)) {
      if (largest > maxFinite) continue;
      return `at ${at} is ${result}, want ${expected}, and no partial sum is beyond ${largest}`;
    }
    if (!(Math.abs(result - expected) <= slack))
      return `at ${at} is ${result}, want ${expected} within ${slack}`;
    const isOfOneSign = signed && expected !== 0 && Math.abs(expected) === magnitude;
    if (isOfOneSign && Math.sign(result) !== Math.sign(expected))
      return `at ${at} is ${result}, want ${expected}: its terms have one sign`;
  }
  return undefined;
}
