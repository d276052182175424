/**
 * The allowed results of a sum that accumulates in a half dtype. Each of n partial sums is off by at most one
 * ulp of the largest possible partial sum, and the whole sum by at most the sum of its terms' magnitudes.
 * Terms of one sign never sum to 0 or to the opposite sign.
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
  /** The f32 result with all operands replaced by their magnitudes. */
  readonly magnitudes: HostTensor;
  /** The terms of the sum: the first operand. */
  readonly terms: HostTensor;
}

/** The allowed range of one result. */
interface Reach {
  /** Largest allowed difference from the f32 result. */
  readonly slack: number;
  /** The largest possible partial sum. */
  readonly largest: number;
  /** Whether the sum alone decides the sign of the result. */
  readonly signed: boolean;
}

interface Terms {
  readonly magnitude: number;
  readonly count: number;
  /** The sum of the terms' magnitudes, and that of their squares. */
  readonly total: number;
  readonly squares: number;
  /** Share of the whole sum that n roundings may lose, at most 1. */
  readonly loss: number;
}

const sum = ({ magnitude, loss }: Terms): Reach => ({
  slack: loss * magnitude,
  largest: magnitude,
  signed: true,
});
const mean = (terms: Terms): Reach => ({ ...sum(terms), largest: terms.total });
const root = (terms: Terms): Reach => ({ ...sum(terms), largest: terms.squares });
/** The range for a softmax, where no exponential is above 1. */
const share = ({ count, loss }: Terms): Reach => ({ slack: loss, largest: count, signed: true });
/** The range for a normalization with scale 1: none of n elements is over √n deviations from the mean. */
const normalization = ({ count, squares }: Terms): Reach => ({
  slack: Math.sqrt(count),
  largest: squares,
  signed: false,
});
/** A range that only requires finite results, since the effect of a wrong mean depends on all operands. */
const finite = ({ total }: Terms): Reach => ({
  slack: Number.POSITIVE_INFINITY,
  largest: total,
  signed: false,
});

const reachTable: Readonly<Record<AddingOp, (terms: Terms) => Reach>> = {
  ...rowsOf(ADDING_OPS, () => sum),
  Attention: finite,
  AttentionGradient: finite,
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
 * Says why a sum that accumulates in a half dtype cannot give `got`; undefined if it can. Only a sum that may
 * overflow can give a non-finite result.
 */
export function looseProblem(
  op: AddingOp,
  dtype: ComputeDType,
  { got, want, magnitudes, terms }: LooseSum,
): string | undefined {
  if (got === undefined) return "is missing";
  const { fractionBits, maxFinite } = floatFormats[dtype];
  const numbers = toNumbers(terms);
  const count = numbers.length;
  const loss = Math.min(1, count * 2 ** -fractionBits);
  const total = numbers.reduce((sum, x) => sum + Math.abs(x), 0);
  const squares = numbers.reduce((sum, x) => sum + x * x, 0);
  const [wanted, sizes, results] = [want, magnitudes, got].map(toNumbers) as [number[], number[], number[]];
  for (const [at, expected] of wanted.entries()) {
    const result = results[at] ?? Number.NaN;
    const magnitude = Math.abs(sizes[at] ?? 0);
    const { slack, largest, signed } = reachTable[op]({ magnitude, count, total, squares, loss });
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
