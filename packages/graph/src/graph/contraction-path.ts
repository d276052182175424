/** The order in which a contraction of several operands is computed: two at a time, the cheapest pair first. */
import type { Contraction } from "./einsum-equation.js";

/** Two operands that are multiplied and summed over the labels that occur nowhere else. */
export interface Pairing {
  /** Positions in the list of remaining operands; the product replaces the left operand, the right one is removed. */
  readonly left: number;
  readonly right: number;
  /** Labels of the product: first labels of both operands, then of the left operand only, then of the right only. */
  readonly result: string;
  /** Labels summed over. */
  readonly summed: string;
}

export interface ContractionPath {
  /** For each operand, the labels that neither the result nor another operand has. They are summed over first. */
  readonly alone: readonly string[];
  readonly pairings: readonly Pairing[];
}

/** The labels of an operand, each once. */
function operandLabels(operand: Contraction["operands"][number]): string {
  return [...new Set(operand)].filter((label) => label !== undefined).join("");
}

export const only = (labels: string, holds: (label: string) => boolean): string =>
  [...labels].filter(holds).join("");

/** The product of the labels' sizes. */
export function extent(labels: string, sizes: Contraction["sizes"]): number {
  return [...labels].reduce((product, label) => product * (sizes.get(label) ?? 1), 1);
}

export function contractionPath({ operands, output, sizes }: Contraction): ContractionPath {
  const given = operands.map(operandLabels);
  const alone = given.map((labels, index) =>
    only(
      labels,
      (label) => !output.includes(label) && !given.some((other, at) => at !== index && other.includes(label)),
    ),
  );
  let left = given.map((labels, index) => only(labels, (label) => !(alone[index] as string).includes(label)));
  const pairings: Pairing[] = [];
  while (left.length > 1) {
    const pairing = cheapest(left, output, sizes);
    pairings.push(pairing);
    left = left.with(pairing.left, pairing.result).toSpliced(pairing.right, 1);
  }
  return { alone, pairings };
}

function cheapest(left: readonly string[], output: string, sizes: Contraction["sizes"]): Pairing {
  let best: Pairing | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < left.length; i++) {
    for (let j = i + 1; j < left.length; j++) {
      const pairing = pairOperands(left, i, j, output);
      const size = extent(pairing.result + pairing.summed, sizes);
      if (best !== undefined && size >= least) continue;
      [best, least] = [pairing, size];
    }
  }
  return best as Pairing;
}

function pairOperands(left: readonly string[], i: number, j: number, output: string): Pairing {
  const [a, b] = [left[i] as string, left[j] as string];
  const isKept = (label: string): boolean =>
    output.includes(label) || left.some((other, at) => at !== i && at !== j && other.includes(label));
  const both = only(a, (label) => b.includes(label));
  const ofA = only(a, (label) => !b.includes(label));
  const ofB = only(b, (label) => !a.includes(label));
  return {
    left: i,
    right: j,
    result: only(both, isKept) + ofA + ofB,
    summed: only(both, (label) => !isKept(label)),
  };
}

/** Arithmetic operations of a contraction along its path; a multiply-add counts as two. */
export function contractionFlops(contraction: Contraction): number {
  const { operands, sizes } = contraction;
  const { alone, pairings } = contractionPath(contraction);
  const sums = operands.map((operand, index) =>
    alone[index] === "" ? 0 : extent(operandLabels(operand), sizes),
  );
  const products = pairings.map(
    ({ result, summed }) => extent(result + summed, sizes) * (summed === "" ? 1 : 2),
  );
  return [...sums, ...products].reduce((total, flops) => total + flops, 0);
}
