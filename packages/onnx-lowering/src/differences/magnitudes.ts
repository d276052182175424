/** Derives bounds on the magnitudes of values from the operators that compute them. */
import { type HostTensor, isNode, type Value } from "@mp/graph";
import type { ProducerOf } from "../lowerings/lower-node.js";

/** Bounds on elements. Each element is 0, infinite, NaN, or has a magnitude from `least` to `most`. */
export interface Magnitudes {
  readonly least: number;
  readonly most: number;
  /** True if all elements are known to be ≥ 0 or NaN. */
  readonly isPositive: boolean;
}

/** Bounds of a square root: the roots of the smallest subnormal and of the largest number. */
const ROOTS: Magnitudes = { least: 2 ** -75, most: 2 ** 64, isPositive: true };

/** Longest chain of operators followed back from a divisor; Adam's divisor, √v + √c · ε, needs three. */
const DEEPEST = 4;

function ofConstant({ data }: HostTensor): Magnitudes {
  const numbers = Array.from<number | bigint, number>(data as ArrayLike<number | bigint>, Number);
  const sizes = numbers.map(Math.abs).filter((size) => size > 0 && size < Number.POSITIVE_INFINITY);
  const [least, most] = sizes.reduce(
    ([low, high], size) => [Math.min(low, size), Math.max(high, size)],
    [Number.POSITIVE_INFINITY, 0],
  );
  return { least, most, isPositive: numbers.every((number) => number >= 0) };
}

/** Bounds the magnitudes of an f32 value; undefined if no bound can be derived. */
export function boundMagnitudes(
  value: Value,
  producerOf: ProducerOf,
  deepest: number = DEEPEST,
): Magnitudes | undefined {
  const node = producerOf(value);
  if (node === undefined) return undefined;
  if (isNode(node, "Constant")) return ofConstant(node.attributes.value);
  if (isNode(node, "Sqrt")) return ROOTS;
  if (deepest === 0 || !(isNode(node, "Mul") || isNode(node, "Add"))) return undefined;
  const [a, b] = node.inputs.map((operand) => boundMagnitudes(operand, producerOf, deepest - 1));
  if (a === undefined || b === undefined) return undefined;
  const isPositive = a.isPositive && b.isPositive;
  if (isNode(node, "Mul")) return { least: a.least * b.least, most: a.most * b.most, isPositive };
  // A sum of operands with opposite signs may be arbitrarily small.
  return isPositive ? { least: Math.min(a.least, b.least), most: a.most + b.most, isPositive } : undefined;
}
