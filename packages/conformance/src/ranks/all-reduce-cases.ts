import type { Ranks } from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import { expectEqual, expectThat, fail } from "../expectations.js";
import { allRanks, type RanksCase, sumOver } from "./ranks-case.js";

const LENGTHS = [1, 0, 3, 16, 17, 1000, 65_537] as const;
const ROUNDS = 20;
const GUARD = -7.5;

/** Small integers, whose sums are exact in any order. */
const integerAt = (rank: number, index: number): number => ((index * 7 + rank * 13) % 1021) - 300;

function integers(rank: number, length: number): Float32Array {
  const values = new Float32Array(length);
  for (let index = 0; index < length; index++) values[index] = integerAt(rank, index);
  return values;
}

function expectIntegerSums(ranks: Ranks, got: Float32Array, what: string): void {
  const wrong = got.findIndex((value, index) => value !== sumOver(ranks, (rank) => integerAt(rank, index)));
  if (wrong === -1) return;
  const want = sumOver(ranks, (rank) => integerAt(rank, wrong));
  fail(`${what}: the sum at ${wrong} is ${got[wrong]}, want ${want} on rank ${ranks.rank}`);
}

/** Numbers of many magnitudes and both signs, whose sums depend on the order of addition. */
function unevenAt(rank: number, index: number): number {
  const bits = Math.imul(index * 2654435761 + rank * 40503 + 1, 2246822519) >>> 0;
  return Math.fround((bits / 2 ** 31 - 1) * 2 ** ((bits >>> 7) % 30));
}

/** A value of one rank, and its sum with the values of the other ranks, which are all 1. */
const SPECIAL = [
  { own: Number.POSITIVE_INFINITY, sum: Number.POSITIVE_INFINITY },
  { own: Number.NEGATIVE_INFINITY, sum: Number.NEGATIVE_INFINITY },
  { own: Number.NaN, sum: Number.NaN },
] as const;

/** f32 numbers that change if the sum is in a narrower type or flushes subnormals. */
const NARROW_LOSES = [
  1 + 2 ** -23,
  1 + 2 ** -9,
  65_520,
  2 ** 100,
  2 ** -100,
  2 ** -149,
  3 * 2 ** -140,
] as const;

export const allReduceCases: readonly RanksCase[] = [
  {
    id: "all-reduce/adds-exactly-at-every-length",
    run: async (ranks) => {
      const all = LENGTHS.map((length) => integers(ranks.rank, length));
      for (const values of all) await ranks.allReduce(values);
      for (const values of all) expectIntegerSums(ranks, values, `${values.length} values`);
    },
  },
  {
    id: "all-reduce/adds-a-million-values",
    run: async (ranks) => {
      const values = integers(ranks.rank, 1_000_003);
      await ranks.allReduce(values);
      expectIntegerSums(ranks, values, "1 000 003 values");
    },
  },
  {
    id: "all-reduce/stays-in-the-view",
    run: async (ranks) => {
      const memory = new Float32Array(40).fill(GUARD);
      const values = memory.subarray(9, 30);
      values.set(integers(ranks.rank, values.length));
      await ranks.allReduce(values);
      expectIntegerSums(ranks, values, "a view");
      const outside = [...memory.subarray(0, 9), ...memory.subarray(30)];
      expectThat(
        outside.every((value) => value === GUARD),
        "values beside the view were changed",
      );
    },
  },
  {
    id: "all-reduce/keeps-what-is-not-finite-of-any-rank",
    run: async (ranks) => {
      const places = allRanks(ranks).flatMap((rank) => SPECIAL.map((special) => ({ rank, ...special })));
      const values = Float32Array.from(places, ({ rank, own }) => (rank === ranks.rank ? own : 1));
      await ranks.allReduce(values);
      for (const [index, { rank, own, sum }] of places.entries())
        expectEqual(values[index], sum, `the sum with ${own} of rank ${rank}`);
    },
  },
  {
    id: "all-reduce/opposite-infinities-and-overflow",
    run: async (ranks) => {
      const isAlone = ranks.size === 1;
      const sign = ranks.rank === 0 ? 1 : -1;
      const values = Float32Array.of(sign * Number.POSITIVE_INFINITY, 3e38, -3e38);
      await ranks.allReduce(values);
      expectEqual(
        values[0],
        isAlone ? Number.POSITIVE_INFINITY : Number.NaN,
        "the sum of opposite infinities",
      );
      const most = isAlone ? Math.fround(3e38) : Number.POSITIVE_INFINITY;
      expectEqual([values[1], values[2]], [most, -most], "sums beyond the largest number");
    },
  },
  {
    id: "all-reduce/is-in-f32",
    run: async (ranks) => {
      const places = allRanks(ranks).flatMap((rank) => NARROW_LOSES.map((value) => ({ rank, value })));
      const values = Float32Array.from(places, ({ rank, value }) => (rank === ranks.rank ? value : 0));
      const negative = values.map((value) => -value);
      await ranks.allReduce(values);
      await ranks.allReduce(negative);
      for (const [index, { rank, value }] of places.entries()) {
        expectEqual(values[index], value, `${value} of rank ${rank} plus zeros`);
        expectEqual(negative[index], -value, `${-value} of rank ${rank} plus zeros`);
      }
    },
  },
  {
    id: "all-reduce/the-same-bits-on-every-rank-and-in-repeats",
    run: async (ranks) => {
      const own = Float32Array.from({ length: 10_007 }, (_, index) => unevenAt(ranks.rank, index));
      const repeats = [own.slice(), own.slice(), own.slice()];
      for (const values of repeats) await ranks.allReduce(values);
      const [first = own] = repeats;
      const all = await ranks.allGather(new Uint8Array(first.buffer));
      for (const [index, got] of first.entries()) {
        const exact = sumOver(ranks, (rank) => unevenAt(rank, index));
        const bound = ranks.size * 2 ** -23 * sumOver(ranks, (rank) => Math.abs(unevenAt(rank, index)));
        expectThat(Math.abs(got - exact) <= bound, () => `the sum at ${index} is ${got}, want ${exact}`);
      }
      expectThat(
        all.every((bytes) => sameBytes(bytes, first)),
        "ranks have different bits",
      );
      expectThat(
        repeats.every((values) => sameBytes(values, first)),
        "the same sums have different bits in a repeat",
      );
    },
  },
  {
    id: "all-reduce/memory-is-the-caller's-once-it-resolves",
    run: async (ranks) => {
      const values = new Float32Array(5003);
      const sums: Float32Array[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        values.set(integers(ranks.rank + round, values.length));
        await ranks.allReduce(values);
        sums.push(values.slice());
        values.fill(Number.NaN);
      }
      for (const [round, got] of sums.entries()) {
        const wrong = got.findIndex(
          (value, index) => value !== sumOver(ranks, (rank) => integerAt(rank + round, index)),
        );
        if (wrong !== -1) fail(`round ${round}: the sum at ${wrong} is ${got[wrong]} on rank ${ranks.rank}`);
      }
    },
  },
];
