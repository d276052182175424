import type { Ranks } from "@mp/graph";
import { sameBytes } from "@mp/graph/internal";
import { expectEqual, expectThat } from "../expectations.js";
import { allRanks, type RanksCase } from "./ranks-case.js";

/** A length that differs between ranks: up to four ranks have four lengths, unordered and including 0. */
const partLength = (rank: number, round: number): number => [5, 0, 100_003, 1][(rank + round) % 4] ?? 0;

function makeBytes(rank: number, round: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = index * 31 + rank * 17 + round * 101 + 3;
  return bytes;
}

/** Whether two arrays hold the same bytes. */
const same = (a: Uint8Array | undefined, b: Uint8Array): boolean => a !== undefined && sameBytes(a, b);

function expectGathered(ranks: Ranks, got: readonly Uint8Array[], round: number): void {
  expectEqual(got.length, ranks.size, "the number of gathered values");
  for (const rank of allRanks(ranks)) {
    const want = makeBytes(rank, round, partLength(rank, round));
    const found = got[rank];
    expectThat(
      same(found, want),
      () =>
        `round ${round}: in the place of rank ${rank} are ${found?.length} bytes other than its ${want.length}`,
    );
  }
}

/** A pause of one rank, much longer than a message takes. */
const PAUSE_MS = 150;
const BROADCAST_LENGTHS = [1, 0, 8, 100_003] as const;

export const exchangeCases: readonly RanksCase[] = [
  {
    id: "ranks/are-numbered-from-zero-in-order",
    run: async (ranks) => {
      const { rank, size } = ranks;
      const all = await ranks.allGather(Uint8Array.of(rank, size));
      expectEqual(
        all.map((bytes) => [...bytes]),
        allRanks(ranks).map((other) => [other, size]),
        "the number and the size of each rank",
      );
      expectThat(Number.isInteger(rank) && rank >= 0 && rank < size, `rank ${rank} of ${size}`);
    },
  },
  {
    id: "all-gather/in-the-order-of-ranks-with-lengths-of-their-own",
    run: async (ranks) => {
      const all: (readonly Uint8Array[])[] = [];
      for (let round = 0; round < 4; round++)
        all.push(await ranks.allGather(makeBytes(ranks.rank, round, partLength(ranks.rank, round))));
      for (const [round, got] of all.entries()) expectGathered(ranks, got, round);
    },
  },
  {
    id: "all-gather/gives-copies",
    run: async (ranks) => {
      const own = makeBytes(ranks.rank, 0, 64);
      const first = await ranks.allGather(own);
      own.fill(0xee);
      const second = await ranks.allGather(makeBytes(ranks.rank, 0, 64));
      for (const bytes of second) bytes.fill(0xdd);
      await ranks.barrier();
      for (const rank of allRanks(ranks))
        expectThat(
          same(first[rank], makeBytes(rank, 0, 64)),
          `the gathered bytes of rank ${rank} changed later`,
        );
    },
  },
  {
    id: "broadcast/gives-rank-0's-bytes-to-all",
    run: async (ranks) => {
      const all: Uint8Array[] = [];
      for (const [round, length] of BROADCAST_LENGTHS.entries()) {
        const own = makeBytes(0, round, length);
        all.push(await (ranks.rank === 0 ? ranks.broadcast(own) : ranks.broadcast()));
        own.fill(0xee);
      }
      await ranks.barrier();
      for (const [round, got] of all.entries()) {
        const want = makeBytes(0, round, BROADCAST_LENGTHS[round] ?? 0);
        expectThat(
          same(got, want),
          `broadcast of ${want.length} bytes gives ${got.length} others on rank ${ranks.rank}`,
        );
      }
    },
  },
  {
    id: "barrier/waits-for-the-last-rank",
    run: async (ranks) => {
      await ranks.barrier();
      const start = performance.now();
      // The last rank leaves this barrier, and pauses, when all others have read their clocks.
      await ranks.barrier();
      if (ranks.rank === ranks.size - 1) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      await ranks.barrier();
      const waited = performance.now() - start;
      expectThat(
        waited > PAUSE_MS / 2,
        `rank ${ranks.rank} passed after ${waited.toFixed(0)} ms of ${PAUSE_MS}`,
      );
    },
  },
  {
    id: "ranks/one-collective-after-another",
    run: async (ranks) => {
      const { rank, size } = ranks;
      const got: unknown[] = [];
      const want: unknown[] = [];
      for (let round = 0; round < 30; round++) {
        const values = Float32Array.of(rank + round);
        await ranks.allReduce(values);
        const sent = await ranks.broadcast(rank === 0 ? Uint8Array.of(round) : undefined);
        if (round % 3 === 0) await ranks.barrier();
        const all = await ranks.allGather(Uint8Array.of(rank, round));
        got.push([values[0], [...sent], all.map((bytes) => [...bytes])]);
        want.push([
          (size * (size - 1)) / 2 + size * round,
          [round],
          allRanks(ranks).map((other) => [other, round]),
        ]);
      }
      expectEqual(got, want, "thirty rounds of sums, broadcasts and gathers");
    },
  },
];
