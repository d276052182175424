/**
 * Squares32 (Widynski, arXiv 2004.06278) in u32. Few devices have shifts, but a quotient by 2^16 is one; and limbs of 16
 * bits, as wide as u32, add up without carries.
 */
import { elementCount } from "@mp/core/graph";
import { int, type NodeWriter } from "@mp/onnx/write";
import type { OwnLowering } from "../lowerings/own-lowering.js";
import { firstOfRows, type Halves, type Layout, LIMB, MASK } from "./first-of-rows.js";
import { Unsigned } from "./unsigned.js";

/** At most as many columns: tables of them are written into the model. */
const COLUMNS = 1024;

/** Rows of whole vectors of four if they are not short. The product may be more than the count. */
function layoutOf(count: number): Layout {
  const sizes = Array.from({ length: Math.min(count, COLUMNS) }, (_, index) => index + 1);
  const divisors = sizes.filter((size) => count % size === 0);
  const most = divisors.at(-1) ?? 1;
  const columns = divisors.findLast((size) => size % 4 === 0 && 4 * size > most) ?? most;
  // A prime count has no rows but those of one element, or one row.
  return count > COLUMNS && columns < COLUMNS / 32
    ? { rows: Math.ceil(count / COLUMNS), columns: COLUMNS }
    : { rows: count / columns, columns };
}

/** The square's operand: its words, and the limbs of the lower one. */
interface Operand extends Halves {
  readonly limbs: readonly [string, string];
}

/**
 * A term that is added to a square: its words, and two limbs whose sum in their places is the low word, or more than that
 * by what the high word lacks.
 */
type Term = Operand;

const limbsOf = (word: string, u: Unsigned): readonly [string, string] => {
  const upper = u.quotient(word, LIMB);
  return [u.sub(word, u.times(upper, LIMB)), upper];
};

/**
 * The high word of x² + term. With x = 2^16 · a + b in the low word, it is a² + 2 · low · high + ⌊(2^17 · a · b + b² +
 * term) / 2^32⌋. The quotient is taken in steps, none of which exceeds 2^32 - 1: b² + 2 · (2^16 - 1) does not, nor does a · b
 * + 2^17.
 */
function highOfSquare({ low, high, limbs: [b, a] }: Operand, term: Term, u: Unsigned): string {
  const [t0, t1] = term.limbs;
  const tail = u.sum(u.quotient(u.sum(u.mul(b, b), t0), LIMB), t1);
  const middle = u.quotient(u.sum(u.mul(a, b), u.quotient(tail, 2)), LIMB / 2);
  const crossed = u.mul(low, high);
  return u.sum(u.mul(a, a), middle, crossed, crossed, term.high);
}

/** x² + term with its words exchanged. */
function exchangedSquare(x: Operand, term: Term, u: Unsigned): Operand {
  const low = highOfSquare(x, term, u);
  return { low, high: u.sum(u.mul(x.low, x.low), term.low), limbs: limbsOf(low, u) };
}

/** y = (counter + index) · key of every element. */
function products(first: Halves, key: bigint, { columns }: Layout, u: Unsigned): Operand {
  const steps = Array.from({ length: columns }, (_, column) => (key * BigInt(column)) & MASK);
  const lows = u.row(steps.map((step) => Number(step & 0xffffffffn)));
  const highs = u.row(steps.map((step) => Number(step >> 32n)));
  const low = u.sum(first.low, lows);
  return { low, high: u.sum(first.high, highs, u.isBelow(low, lows)), limbs: limbsOf(low, u) };
}

/** z = y + key. Its limbs have up to 17 bits, which stand for the carry of the low word as well. */
function withKey({ low, high, limbs: [t0, t1] }: Operand, key: bigint, u: Unsigned): Term {
  const [lower, upper] = [Number(key & 0xffffffffn), Number(key >> 32n)];
  return {
    low: u.sum(low, u.number(lower)),
    high: u.sum(high, u.number(upper)),
    limbs: [u.sum(t0, u.number(lower % LIMB)), u.sum(t1, u.number(Math.floor(lower / LIMB)))],
  };
}

/** @param counter i32 [2], two signed words whose sum in their places it is */
function randomBits(counter: string, key: bigint, layout: Layout, u: Unsigned): string {
  const y = products(firstOfRows(counter, key, layout, u), key, layout, u);
  const z = withKey(y, key, u);
  const x = [y, z, y].reduce((operand, term) => exchangedSquare(operand, term, u), y);
  return highOfSquare(x, z, u);
}

/** In the shape of the node, without the elements that fill the last row. */
function shaped(
  bits: string,
  { rows, columns }: Layout,
  shape: readonly number[],
  writer: NodeWriter,
): string {
  const count = elementCount(shape, "RandomBits");
  const flat = (name: string, sizes: readonly number[]): string =>
    writer.one("Reshape", [name, writer.ints(sizes)]);
  const more = rows * columns - count;
  if (more === 0) return flat(bits, shape);
  const parts = [flat(bits, [rows * columns]), writer.ints([count, more])];
  const [wanted = ""] = writer.emit("Split", parts, { axis: int(0) }, { outputs: 2 });
  return flat(wanted, shape);
}

/** As u32, of a counter in words. */
export const randomWords: OwnLowering<"RandomBits"> = ({ attributes }, [counter = ""], writer) => {
  const { key, shape } = attributes;
  const layout = layoutOf(elementCount(shape, "RandomBits"));
  return [shaped(randomBits(counter, key, layout, new Unsigned(writer)), layout, shape, writer)];
};
