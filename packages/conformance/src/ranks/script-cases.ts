/** Random sequences of collectives, the same on every rank, with views at any offset and all kinds of lengths. */
import type { Ranks } from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import { expectThat, fail } from "../expectations.js";
import { type RandomSource, randomSource } from "../random-source.js";
import { allRanks, type RanksCase, sumOver } from "./ranks-case.js";

/** Seed of the scripts; the same on all ranks, so that they draw the same numbers. */
const SEED = 1;

/** A byte that a rank contributes; each rank and step has different bytes. */
const byteAt = (rank: number, step: number, index: number): number =>
  (index * 31 + (index >> 8) * 7 + rank * 17 + step * 101 + 3) & 0xff;

const wholeAt = (rank: number, step: number, index: number): number => byteAt(rank, step, index) - 100;

function makeBytes(rank: number, step: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = byteAt(rank, step, index);
  return bytes;
}

const GUARD = 0x77;

/** A view into a larger buffer, and a function that says whether the buffer has been written to. */
interface Part {
  readonly bytes: Uint8Array;
  readonly problem: () => string | undefined;
}

function partOf(before: number, content: Uint8Array, after: number): Part {
  const memory = new Uint8Array(before + content.length + after).fill(GUARD);
  const bytes = memory.subarray(before, before + content.length);
  bytes.set(content);
  const kept = memory.slice();
  return {
    bytes,
    problem: () =>
      sameBytes(memory, kept) ? undefined : "the caller's bytes, or those beside them, were written to",
  };
}

function findDifference(got: Uint8Array | undefined, want: Uint8Array): string | undefined {
  if (got?.length !== want.length) return `has ${got?.length} bytes, want ${want.length}`;
  if (sameBytes(got, want)) return undefined;
  const wrong = got.findIndex((byte, index) => byte !== want[index]);
  return `has ${got[wrong]} at ${wrong} of ${want.length}, want ${want[wrong]}`;
}

/** Problems in the order in which they are found; after all collectives, a case reports the first. */
type Problems = (string | undefined)[];

type Step = (ranks: Ranks, random: RandomSource, step: number, most: number) => Promise<() => Problems>;

/** A random length: 0, 1, small, next to a power of two, or any up to `most`. */
function lengthIn(random: RandomSource, most: number): number {
  const power = 2 ** random.integer(0, Math.floor(Math.log2(most)));
  const lengths = [0, 1, random.integer(2, 70), power + random.integer(-2, 2), random.integer(0, most)];
  return Math.max(0, lengths[random.integer(0, 4)] ?? 0);
}

const gather: Step = async (ranks, random, step, most) => {
  const lengths = allRanks(ranks).map(() => lengthIn(random, most));
  const [before, after] = [random.integer(0, 9), random.integer(0, 9)];
  const own = partOf(before, makeBytes(ranks.rank, step, lengths[ranks.rank] ?? 0), after);
  const got = await ranks.allGather(own.bytes);
  return () => [
    own.problem(),
    ...allRanks(ranks).map((rank) => {
      const found = findDifference(got[rank], makeBytes(rank, step, lengths[rank] ?? 0));
      return found && `what is gathered of rank ${rank} ${found}`;
    }),
  ];
};

const broadcast: Step = async (ranks, random, step, most) => {
  const content = makeBytes(0, step, lengthIn(random, most));
  const own = partOf(random.integer(0, 9), content, random.integer(0, 9));
  const got = await ranks.broadcast(ranks.rank === 0 ? own.bytes : undefined);
  return () => {
    const found = findDifference(got, content);
    return [own.problem(), found && `what is broadcast ${found}`];
  };
};

const reduce: Step = async (ranks, random, step, most) => {
  const [before, length, after] = [random.integer(0, 9), lengthIn(random, most), random.integer(0, 9)];
  const memory = new Float32Array(before + length + after).fill(-7.5);
  const values = memory.subarray(before, before + length);
  for (const index of values.keys()) values[index] = wholeAt(ranks.rank, step, index);
  await ranks.allReduce(values);
  return () => {
    const sum = (index: number): number => sumOver(ranks, (rank) => wholeAt(rank, step, index));
    const wrong = values.findIndex((value, index) => value !== sum(index));
    const outside = [...memory.subarray(0, before), ...memory.subarray(before + length)];
    return [
      wrong === -1 ? undefined : `the sum at ${wrong} of ${length} is ${values[wrong]}, want ${sum(wrong)}`,
      outside.some((value) => value !== -7.5) ? "values beside the view were written to" : undefined,
    ];
  };
};

const barrier: Step = async (ranks) => {
  await ranks.barrier();
  return () => [];
};

const KINDS: readonly (readonly [string, Step])[] = [
  ["all-gather", gather],
  ["broadcast", broadcast],
  ["all-reduce", reduce],
  ["barrier", barrier],
];

/** Makes all calls, then checks all results, since results must not change later. */
async function script(
  ranks: Ranks,
  { id, steps, most, kinds }: { id: string; steps: number; most: number; kinds: typeof KINDS },
): Promise<void> {
  const random = randomSource(SEED, id);
  const checks: (readonly [string, () => Problems])[] = [];
  for (let step = 0; step < steps; step++) {
    const [kind, run] = kinds[random.integer(0, kinds.length - 1)] as (typeof KINDS)[number];
    checks.push([`${kind}, call ${step + 1} of ${steps}`, await run(ranks, random, step, most)]);
  }
  for (const [what, check] of checks) {
    const problem = check().find((found) => found !== undefined);
    if (problem !== undefined) fail(`${what}: ${problem}, on rank ${ranks.rank}`);
  }
}

const scriptCase = (id: string, steps: number, most: number, kinds: typeof KINDS): RanksCase => ({
  id,
  run: (ranks) => script(ranks, { id, steps, most, kinds }),
});

/** Lengths above the limit at which a transport may send messages in pieces. */
const LARGE = [2 ** 20 - 1, 2 ** 20 + 3] as const;

const large: RanksCase = {
  id: "exchange/more-than-a-mebibyte",
  run: async (ranks) => {
    const checks: (() => string | undefined)[] = [];
    for (const [step, length] of LARGE.entries()) {
      const all = allRanks(ranks).map((rank) =>
        makeBytes(rank, step, rank % 2 === step % 2 ? length : 7 * rank),
      );
      const own = partOf(3, all[ranks.rank] as Uint8Array, 5);
      const gathered = await ranks.allGather(own.bytes);
      const sent = partOf(5, makeBytes(0, step + 9, length), 3);
      const got = await ranks.broadcast(ranks.rank === 0 ? sent.bytes : undefined);
      for (const [rank, want] of all.entries()) checks.push(() => findDifference(gathered[rank], want));
      checks.push(own.problem, sent.problem, () => findDifference(got, makeBytes(0, step + 9, length)));
    }
    for (const check of checks) {
      const problem = check();
      expectThat(
        problem === undefined,
        `an exchange of up to ${LARGE.at(-1)} bytes ${problem} on rank ${ranks.rank}`,
      );
    }
  },
};

/** The caller refills and passes one array again and again; earlier results must not change. */
const refilled: RanksCase = {
  id: "exchange/one-array-used-again",
  run: async (ranks) => {
    const own = new Uint8Array(37);
    const gathered: (readonly Uint8Array[])[] = [];
    const received: Uint8Array[] = [];
    for (let step = 0; step < 60; step++) {
      own.set(makeBytes(ranks.rank, step, own.length));
      gathered.push(await ranks.allGather(own));
      received.push(await ranks.broadcast(ranks.rank === 0 ? own : undefined));
    }
    own.fill(0);
    for (const [step, all] of gathered.entries()) {
      const found = allRanks(ranks).map((rank) =>
        findDifference(all[rank], makeBytes(rank, step, own.length)),
      );
      const problem = [...found, findDifference(received[step], makeBytes(0, step, own.length))].find(
        Boolean,
      );
      expectThat(problem === undefined, `round ${step} of one array ${problem} on rank ${ranks.rank}`);
    }
  },
};

/** −0, NaN of every payload and subnormals, whose bits an exchange must not change. */
const bits: RanksCase = {
  id: "exchange/keeps-every-bit-of-a-float",
  run: async (ranks) => {
    const words = Uint32Array.of(
      0x8000_0000,
      0,
      1,
      0x8000_0001,
      0x7f80_0001,
      0x7fc0_1234,
      0xffc0_0001,
      0xff80_0000,
      0x7fa5_5a5a,
    );
    const bytes = new Uint8Array(new Float32Array(words.buffer).buffer);
    const all = await ranks.allGather(bytes);
    const got = await ranks.broadcast(ranks.rank === 0 ? bytes : undefined);
    for (const one of [...all, got]) {
      const problem = findDifference(one, bytes);
      expectThat(problem === undefined, `bits of floats: one ${problem} on rank ${ranks.rank}`);
    }
  },
};

const zeros: RanksCase = {
  id: "all-reduce/keeps-the-sign-of-zeros",
  run: async (ranks) => {
    const isLast = ranks.rank === ranks.size - 1;
    const values = new Float32Array(70).fill(-0);
    const mixed = new Float32Array(70).fill(isLast ? 0 : -0);
    await ranks.allReduce(values);
    await ranks.allReduce(mixed);
    const wrong = values.findIndex((value) => !Object.is(value, -0));
    expectThat(wrong === -1, `a sum of -0 of all ranks is ${values[wrong]} on rank ${ranks.rank}`);
    const other = mixed.findIndex((value) => !Object.is(value, 0));
    expectThat(other === -1, `a sum of -0 and one 0 is -0 on rank ${ranks.rank}`);
  },
};

export const scriptCases: readonly RanksCase[] = [
  scriptCase("ranks/a-thousand-collectives-in-any-order", 1_000, 40, KINDS),
  scriptCase("all-gather/views-of-any-offset-and-length", 60, 5_000, KINDS.slice(0, 1)),
  scriptCase("broadcast/views-of-any-offset-and-length", 60, 5_000, KINDS.slice(1, 2)),
  scriptCase("all-reduce/views-of-any-offset-and-length", 60, 5_000, KINDS.slice(2, 3)),
  large,
  refilled,
  bits,
  zeros,
];
