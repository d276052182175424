import type { Ranks } from "@mp/graph";
import { changed, type WrongRanks } from "./wrong-ranks.js";

const ALL_SUMS = [
  "all-reduce/adds-exactly-at-every-length",
  "all-reduce/adds-a-million-values",
  "all-reduce/stays-in-the-view",
  "all-reduce/memory-is-the-caller's-once-it-resolves",
  "all-reduce/views-of-any-offset-and-length",
  "ranks/a-thousand-collectives-in-any-order",
  "ranks/one-collective-after-another",
];
const VIEWS = "all-reduce/views-of-any-offset-and-length";
const THOUSAND = "ranks/a-thousand-collectives-in-any-order";
const GATHERED_VIEWS = "all-gather/views-of-any-offset-and-length";
const SENT_VIEWS = "broadcast/views-of-any-offset-and-length";
const LARGE = "exchange/more-than-a-mebibyte";
const USED_AGAIN = "exchange/one-array-used-again";
const BITS = "exchange/keeps-every-bit-of-a-float";
const ZEROS = "all-reduce/keeps-the-sign-of-zeros";
const GATHERS = [GATHERED_VIEWS, THOUSAND, LARGE];
const BROADCASTS = [SENT_VIEWS, THOUSAND, LARGE];
const SAME_BITS = "all-reduce/the-same-bits-on-every-rank-and-in-repeats";
const NOT_FINITE = "all-reduce/keeps-what-is-not-finite-of-any-rank";
const OVERFLOW = "all-reduce/opposite-infinities-and-overflow";
const IN_F32 = "all-reduce/is-in-f32";
const GATHER = "all-gather/in-the-order-of-ranks-with-lengths-of-their-own";
const NUMBERED = "ranks/are-numbered-from-zero-in-order";
const MIXED = "ranks/one-collective-after-another";

/** Changes the values before they are added. */
const before = (change: (value: number) => number) => (right: readonly Ranks[]) =>
  changed(right, (rank) => ({
    allReduce: (values) => {
      values.set(values.map(change));
      return rank.allReduce(values);
    },
  }));

const word = new DataView(new ArrayBuffer(4));
/** Rounds to bf16 toward zero, which does not change small integers. */
function toBfloat16(value: number): number {
  word.setFloat32(0, value);
  word.setUint32(0, word.getUint32(0) & 0xffff0000);
  return word.getFloat32(0);
}

/** Adds the values of all ranks in an order that differs between ranks. */
const inOwnOrder = (right: readonly Ranks[]) =>
  changed(right, (rank) => ({
    allReduce: async (values) => {
      const all = await rank.allGather(new Uint8Array(values.slice().buffer));
      const terms = all.map((bytes) => new Float32Array(bytes.slice().buffer));
      const rotated = [...terms.slice(rank.rank), ...terms.slice(0, rank.rank)];
      values.set(rotated.reduce((sum, term) => sum.map((x, at) => x + (term[at] ?? 0))));
    },
  }));

const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve));

/** Resolves when the sums are there, but writes them again later. */
const writesLate = (right: readonly Ranks[]) =>
  changed(right, (rank) => ({
    allReduce: async (values) => {
      await nextTurn();
      await rank.allReduce(values);
      const sums = values.slice();
      void nextTurn().then(() => values.set(sums));
    },
  }));

export const rankFaults: readonly WrongRanks[] = [
  {
    fault: "averages",
    size: 2,
    fails: [...ALL_SUMS, IN_F32, SAME_BITS],
    make: (right) =>
      changed(right, (rank) => ({
        allReduce: async (values) => {
          await rank.allReduce(values);
          values.set(values.map((sum) => sum / rank.size));
        },
      })),
  },
  {
    fault: "averages before it adds, so that a sum does not overflow",
    size: 2,
    fails: [...ALL_SUMS, OVERFLOW, IN_F32, SAME_BITS],
    make: before((value) => value / 2),
  },
  {
    fault: "loses an infinity",
    size: 2,
    fails: [NOT_FINITE, OVERFLOW],
    make: before((value) => (Math.abs(value) === Number.POSITIVE_INFINITY ? 0 : value)),
  },
  {
    fault: "loses NaN",
    size: 2,
    fails: [NOT_FINITE],
    make: before((value) => (Number.isNaN(value) ? 0 : value)),
  },
  {
    fault: "saturates",
    size: 2,
    fails: [NOT_FINITE, OVERFLOW],
    make: (right) =>
      changed(right, (rank) => ({
        allReduce: async (values) => {
          await rank.allReduce(values);
          values.set(values.map((sum) => Math.min(Math.max(sum, -3.4e38), 3.4e38)));
        },
      })),
  },
  {
    fault: "sends bfloat16",
    size: 2,
    fails: [...ALL_SUMS.slice(0, 4), IN_F32, SAME_BITS],
    make: before(toBfloat16),
  },
  {
    fault: "flushes subnormal numbers",
    size: 2,
    fails: [IN_F32, ZEROS],
    make: before((value) => (Math.abs(value) < 2 ** -126 ? 0 : value)),
  },
  { fault: "adds in another order on each rank", size: 3, fails: [SAME_BITS], make: inOwnOrder },
  {
    fault: "writes to memory that the caller uses again",
    size: 2,
    fails: ["all-reduce/memory-is-the-caller's-once-it-resolves"],
    make: writesLate,
  },
  {
    fault: "adds the first 65 536 values",
    size: 2,
    fails: ["all-reduce/adds-exactly-at-every-length", "all-reduce/adds-a-million-values"],
    make: (right) =>
      changed(right, (rank) => ({ allReduce: (values) => rank.allReduce(values.subarray(0, 65_536)) })),
  },
  {
    fault: "writes to the start of the buffer",
    size: 2,
    fails: ["all-reduce/stays-in-the-view", VIEWS, THOUSAND],
    make: (right) =>
      changed(right, (rank) => ({
        allReduce: async (values) => {
          const own = values.slice();
          await rank.allReduce(own);
          new Float32Array(values.buffer).set(own);
        },
      })),
  },
  {
    fault: "mixes up ranks in a gather",
    size: 2,
    fails: [GATHER, NUMBERED, MIXED, "all-gather/gives-copies", ...GATHERS, USED_AGAIN],
    make: (right) =>
      changed(right, (rank) => ({
        allGather: async (bytes) => [...(await rank.allGather(bytes))].reverse(),
      })),
  },
  {
    fault: "gathers as many bytes of every rank as rank 0 has",
    size: 2,
    fails: [GATHER, ...GATHERS],
    make: (right) =>
      changed(right, (rank) => ({
        allGather: async (bytes) => {
          const all = await rank.allGather(bytes);
          return all.map((own) => own.slice(0, all[0]?.length));
        },
      })),
  },
  {
    fault: "gathers the caller's own array, not a copy",
    size: 2,
    fails: ["all-gather/gives-copies", USED_AGAIN],
    make: (right) =>
      changed(right, (rank) => ({
        allGather: async (bytes) =>
          (await rank.allGather(bytes)).map((copy, r) => (r === rank.rank ? bytes : copy)),
      })),
  },
  {
    fault: "broadcasts nothing",
    size: 2,
    fails: ["broadcast/gives-rank-0's-bytes-to-all", MIXED, ...BROADCASTS, USED_AGAIN, BITS],
    make: (right) =>
      changed(right, (rank) => ({
        broadcast: async (bytes) => {
          const sent = await rank.broadcast(bytes);
          return rank.rank === 0 ? sent : new Uint8Array(sent.length);
        },
      })),
  },
  {
    fault: "broadcasts the caller's own array, not a copy",
    size: 2,
    fails: ["broadcast/gives-rank-0's-bytes-to-all", USED_AGAIN],
    make: (right) =>
      changed(right, (rank) => ({
        broadcast: async (bytes) => {
          const sent = await rank.broadcast(bytes);
          return bytes ?? sent;
        },
      })),
  },
  {
    fault: "does not wait in a barrier",
    size: 2,
    fails: ["barrier/waits-for-the-last-rank"],
    make: (right) => changed(right, () => ({ barrier: async () => {} })),
  },
  {
    fault: "numbers the ranks from 1",
    size: 2,
    fails: [
      ...[...ALL_SUMS, SAME_BITS, NOT_FINITE, OVERFLOW, IN_F32, GATHER, NUMBERED],
      ...["all-gather/gives-copies", "broadcast/gives-rank-0's-bytes-to-all"],
      ...[GATHERED_VIEWS, SENT_VIEWS, LARGE, USED_AGAIN, BITS, ZEROS],
    ],
    make: (right) => right.map((rank) => ({ ...rank, rank: rank.rank + 1 })),
  },
];
