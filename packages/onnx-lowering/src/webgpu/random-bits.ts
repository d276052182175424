/**
 * Squares32 (Widynski, arXiv 2004.06278) in u32, for devices without 64-bit integers. Few such devices have shifts, so
 * division by 2^16 replaces shifts. Words are split into 16-bit limbs in u32, whose sums need no carries.
 */
import { elementCount, tensor } from "@mp/graph";
import { int, type NodeWriter, string } from "@mp/onnx/write";
import type { OwnLowering } from "../lowerings/own-lowering.js";

const LIMB = 2 ** 16;
const MASK = 2n ** 64n - 1n;
/** ONNX's element type of uint32. */
const UINT32 = 12;

/** Largest number of columns of a layout: tables of this length become constants of the model. */
const COLUMNS = 1024;

/** Size of the matrix in which the random elements are computed. */
type Layout = Readonly<Record<"rows" | "columns", number>>;

/** Chooses a row length divisible by four, unless it is short. The matrix may exceed `count` elements. */
function chooseLayout(count: number): Layout {
  const sizes = Array.from({ length: Math.min(count, COLUMNS) }, (_, index) => index + 1);
  const divisors = sizes.filter((size) => count % size === 0);
  const most = divisors.at(-1) ?? 1;
  const columns = divisors.findLast((size) => size % 4 === 0 && 4 * size > most) ?? most;
  // A prime count divides only into rows of one element, or into a single row.
  return count > COLUMNS && columns < COLUMNS / 32
    ? { rows: Math.ceil(count / COLUMNS), columns: COLUMNS }
    : { rows: count / columns, columns };
}

/** Emits uint32 arithmetic that wraps; operands and results are names. */
export class Unsigned {
  readonly writer: NodeWriter;

  constructor(writer: NodeWriter) {
    this.writer = writer;
  }

  table(values: readonly bigint[], shape: readonly number[]): string {
    return this.writer.unsigned(
      Uint32Array.from(values, (value) => Number(value & 0xffffffffn)),
      shape,
    );
  }

  /** Converts the i32 counter of drawn tensors to the dtype of this arithmetic. */
  counter(drawn: string): string {
    return this.writer.one("Cast", [drawn], { to: int(UINT32) });
  }

  number(value: bigint | number): string {
    return this.table([BigInt(value)], []);
  }

  /** The sum of all arguments. */
  sum(first: string, ...others: readonly string[]): string {
    return others.reduce((a, b) => this.writer.one("Add", [a, b]), first);
  }

  sub(a: string, b: string): string {
    return this.writer.one("Sub", [a, b]);
  }

  mul(a: string, b: string): string {
    return this.writer.one("Mul", [a, b]);
  }

  quotient(a: string, number: number): string {
    return this.writer.one("Div", [a, this.number(number)]);
  }

  /** 1 where a < b, else 0, without a comparison: not every engine compares u32. */
  isBelow(a: string, b: string): string {
    const excess = this.sub(this.writer.one("Max", [a, b]), a);
    return this.writer.one("Min", [excess, this.number(1)]);
  }
}

/** Shifts an i32 right with sign extension, on engines that round the operand of a shift to 24 bits. */
function shiftRight(x: string, bits: number, writer: NodeWriter, shift: (x: string) => string): string {
  const shiftMasked = (mask: number): string =>
    shift(writer.one("BitwiseAnd", [x, writer.scalar(mask, "i32")]));
  const lowest = -(2 ** bits);
  if (bits >= 8) return shiftMasked(lowest);
  return writer.one("Add", [shiftMasked(-(2 ** 16)), shiftMasked(2 ** 16 - 2 ** bits)]);
}

/** `Unsigned` in i32, for engines that compute u32 as i32: constants and shifts are signed. */
export class Signed extends Unsigned {
  override counter(drawn: string): string {
    return drawn;
  }

  override table(values: readonly bigint[], shape: readonly number[]): string {
    return this.writer.initializer(
      tensor(
        Int32Array.from(values, (value) => Number(BigInt.asIntN(32, value))),
        shape,
      ),
    );
  }

  /** The quotient of unsigned numbers. @param number a power of two */
  override quotient(a: string, number: number): string {
    const bits = Math.log2(number);
    const direction = { direction: string("RIGHT") };
    const moved = shiftRight(a, bits, this.writer, (x) =>
      this.writer.one("BitShift", [x, this.number(bits)], direction),
    );
    // Clears the copies of the sign bit.
    return this.writer.one("BitwiseAnd", [moved, this.number(2 ** (32 - bits) - 1)]);
  }

  /** 1 where a < b as unsigned numbers, else 0: the highest bit of the borrow of a - b. */
  override isBelow(a: string, b: string): string {
    const { writer } = this;
    const not = writer.one("BitwiseNot", [a]);
    const equal = writer.one("BitwiseOr", [not, b]);
    const borrow = writer.one("BitwiseOr", [
      writer.one("BitwiseAnd", [not, b]),
      writer.one("BitwiseAnd", [equal, this.sub(a, b)]),
    ]);
    return this.quotient(borrow, 2 ** 31);
  }
}

/**
 * A 64-bit integer: its two words, and the limbs of its low word, `limbs[0]` + 2^16 · `limbs[1]`. In a number
 * that is added to a square, the limbs may also contain a carry that the high word lacks.
 */
interface Wide {
  readonly low: string;
  readonly high: string;
  readonly limbs: readonly [string, string];
}

function splitLimbs(word: string, u: Unsigned): Wide["limbs"] {
  const upper = u.quotient(word, LIMB);
  return [u.sub(word, u.mul(upper, u.number(LIMB))), upper];
}

/**
 * The high word of x² + term. With the low word of x as 2^16 · a + b, it is a² + 2 · low · high + ⌊(2^17 · a · b + b² +
 * term) / 2^32⌋. The quotient is computed in steps whose sums, b² + 2 · (2^16 - 1) and a · b + 2^17, stay below 2^32.
 */
function highOfSquare({ low, high, limbs: [b, a] }: Wide, term: Wide, u: Unsigned): string {
  const [t0, t1] = term.limbs;
  const tail = u.sum(u.quotient(u.sum(u.mul(b, b), t0), LIMB), t1);
  const middle = u.quotient(u.sum(u.mul(a, b), u.quotient(tail, 2)), LIMB / 2);
  const crossed = u.mul(low, high);
  return u.sum(u.mul(a, a), middle, crossed, crossed, term.high);
}

/** x² + term with its two words exchanged. */
function squareAndSwap(x: Wide, term: Wide, u: Unsigned): Wide {
  const low = highOfSquare(x, term, u);
  return { low, high: u.sum(u.mul(x.low, x.low), term.low), limbs: splitLimbs(low, u) };
}

/** y = (2^32 · drawn + index) · key for every element; `drawn` affects only the high word. */
function products(drawn: string, key: bigint, { rows, columns }: Layout, u: Unsigned): Wide {
  const table = (length: number, stride: number, shape: readonly number[]) => {
    const steps = Array.from({ length }, (_, at) => (key * BigInt(at * stride)) & MASK);
    const highs = steps.map((step) => step >> 32n);
    return { low: u.table(steps, shape), high: u.table(highs, shape) };
  };
  const starts = table(rows, columns, [rows, 1]);
  const steps = table(columns, 1, [columns]);
  const first = u.sum(starts.high, u.mul(drawn, u.number(key)));
  const low = u.sum(starts.low, steps.low);
  return { low, high: u.sum(first, steps.high, u.isBelow(low, steps.low)), limbs: splitLimbs(low, u) };
}

/** z = y + key. Its limbs have up to 17 bits, which include the carry out of the low word. */
function withKey({ low, high, limbs: [t0, t1] }: Wide, key: bigint, u: Unsigned): Wide {
  const lower = Number(key & 0xffffffffn);
  return {
    low: u.sum(low, u.number(key)),
    high: u.sum(high, u.number(key >> 32n)),
    limbs: [u.sum(t0, u.number(lower % LIMB)), u.sum(t1, u.number(Math.floor(lower / LIMB)))],
  };
}

function squares(drawn: string, key: bigint, layout: Layout, u: Unsigned): string {
  const y = products(drawn, key, layout, u);
  const z = withKey(y, key, u);
  const x = [y, z, y].reduce((operand, term) => squareAndSwap(operand, term, u), y);
  return highOfSquare(x, z, u);
}

/** Reshapes the matrix to `shape`, without the surplus elements of its last row. */
function shapeBits(
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

export const randomBits =
  (Arithmetic: typeof Unsigned): OwnLowering<"RandomBits"> =>
  ({ attributes }, [drawn = ""], writer) => {
    const { key, shape } = attributes;
    const layout = chooseLayout(elementCount(shape, "RandomBits"));
    const u = new Arithmetic(writer);
    const bits = squares(u.counter(drawn), key, layout, u);
    return [writer.cast(shapeBits(bits, layout, shape, writer), "i32")];
  };
