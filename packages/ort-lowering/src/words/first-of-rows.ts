/** The products of a counter and a key from which the rows of a matrix of random bits begin. */
import { tensor } from "@mp/core";
import { int } from "@mp/onnx/write";
import { toUnsigned } from "./to-unsigned.js";
import type { Unsigned } from "./unsigned.js";

export const LIMB: number = 2 ** 16;

export const MASK: bigint = 2n ** 64n - 1n;

/** How elements lie in a matrix. */
export interface Layout {
  readonly rows: number;
  readonly columns: number;
}

/** A 64-bit integer of u32. */
export interface Halves {
  readonly low: string;
  readonly high: string;
}

const places = [0, 1, 2, 3] as const;
const limbOf = (x: bigint, place: number): number => Number((x >> BigInt(16 * place)) & 0xffffn);

/** Added to four limbs it makes them positive and changes nothing modulo 2^64: what one has more the next has less. */
const POSITIVE = [2 ** 28, 2 ** 28 - 2 ** 12, 2 ** 28 - 2 ** 12, 2 ** 28 - 2 ** 12] as const;

/**
 * counter · key of the first element of each row, [rows, 1]. The counter is i32 [2], two signed words whose sum in their
 * places it is. Its eight digits to the base 256, signed as well, are multiplied by the key's limbs of 16 bits; the sums of these products fit i32.
 */
export function firstOfRows(counter: string, key: bigint, { rows, columns }: Layout, u: Unsigned): Halves {
  const { writer } = u;
  const i32 = (values: readonly number[], shape: readonly number[]): string =>
    writer.initializer(tensor(Int32Array.from(values), shape));
  const base = i32([256], []);
  const words = writer.one("Reshape", [counter, writer.ints([2, 1])]);
  const shifted = writer.one("Div", [words, i32([1, 2 ** 8, 2 ** 16, 2 ** 24], [1, 4])]);
  const above = writer.one("Mul", [writer.one("Div", [shifted, base]), base]);
  const digits = writer.one("Reshape", [writer.one("Sub", [shifted, above]), writer.ints([8, 1])]);
  const keys = Array.from({ length: 8 }, (_, digit) => {
    const placed = (key << BigInt(8 * digit)) & MASK;
    return places.map((place) => limbOf(placed, place));
  });
  const products = writer.one("Mul", [digits, i32(keys.flat(), [8, 4])]);
  const sums = writer.one("ReduceSum", [products, writer.ints([0])], { keepdims: int(1) });
  const starts = Array.from({ length: rows }, (_, row) => {
    const start = (key * BigInt(row * columns)) & MASK;
    return places.map((place) => POSITIVE[place] + limbOf(start, place));
  });
  const limbs = toUnsigned(writer.one("Add", [sums, i32(starts.flat(), [rows, 4])]), writer);
  const sizes = writer.ints([1, 1, 1, 1]);
  const columnsOf = writer.emit("Split", [limbs, sizes], { axis: int(1) }, { outputs: 4 });
  const [l0 = "", l1 = "", l2 = "", l3 = ""] = columnsOf;
  const carried = u.sum(l1, u.quotient(l0, LIMB));
  return {
    low: u.sum(l0, u.times(l1, LIMB)),
    high: u.sum(l2, u.times(l3, LIMB), u.quotient(carried, LIMB)),
  };
}
