/** Faults with views, large data, bits that numbers do not show, and after many calls. */
import type { Ranks } from "@mp/graph";
import { changed, type WrongRanks } from "./wrong-ranks.js";

const GATHERED_VIEWS = "all-gather/views-of-any-offset-and-length";
const SENT_VIEWS = "broadcast/views-of-any-offset-and-length";
const THOUSAND = "ranks/a-thousand-collectives-in-any-order";
const LARGE = "exchange/more-than-a-mebibyte";
const USED_AGAIN = "exchange/one-array-used-again";
const BITS = "exchange/keeps-every-bit-of-a-float";

const MEBIBYTE = 2 ** 20;

const gathering = (change: (bytes: Uint8Array) => Uint8Array) => (right: readonly Ranks[]) =>
  changed(right, (rank) => ({ allGather: (bytes) => rank.allGather(change(bytes)) }));

const sending = (change: (bytes: Uint8Array) => Uint8Array) => (right: readonly Ranks[]) =>
  changed(right, (rank) => ({ broadcast: (bytes) => rank.broadcast(bytes && change(bytes)) }));

const fromTheStart = ({ buffer, length }: Uint8Array): Uint8Array => new Uint8Array(buffer, 0, length);

/** Sends bytes as floats, if their number allows it, so that all NaN get the same payload. */
function asFloats(bytes: Uint8Array): Uint8Array {
  if (bytes.length % 4 !== 0) return bytes;
  const floats = new Float32Array(bytes.slice().buffer);
  for (const [at, value] of floats.entries()) if (Number.isNaN(value)) floats[at] = Number.NaN;
  return new Uint8Array(floats.buffer);
}

/** Loses the bytes after the first piece. */
function inPieces(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MEBIBYTE) return bytes;
  const sent = bytes.slice();
  sent.fill(0, MEBIBYTE);
  return sent;
}

/** Receives into one buffer for each length. */
const intoOneBuffer = (right: readonly Ranks[]) =>
  changed(right, (rank) => {
    const buffers = new Map<number, Uint8Array>();
    return {
      broadcast: async (bytes) => {
        const got = await rank.broadcast(bytes);
        const buffer = buffers.get(got.length) ?? got;
        buffers.set(got.length, buffer);
        buffer.set(got);
        return buffer;
      },
    };
  });

/** Every 128th gather returns the result of the one before it. */
const staleAtTimes = (right: readonly Ranks[]) =>
  changed(right, (rank) => {
    let calls = 0;
    let last: readonly Uint8Array[] = [];
    return {
      allGather: async (bytes) => {
        const got = await rank.allGather(bytes);
        calls++;
        if (calls % 128 === 0) return last;
        last = got;
        return got;
      },
    };
  });

/** Adds to 0, so that the sum of -0 over all ranks is +0. */
const fromZero = (right: readonly Ranks[]) =>
  changed(right, (rank) => ({
    allReduce: async (values) => {
      await rank.allReduce(values);
      for (const [at, value] of values.entries()) values[at] = value + 0;
    },
  }));

export const exchangeFaults: readonly WrongRanks[] = [
  {
    fault: "gathers from the start of a view's buffer",
    size: 2,
    fails: [GATHERED_VIEWS, THOUSAND, LARGE],
    make: gathering(fromTheStart),
  },
  {
    fault: "broadcasts from the start of a view's buffer",
    size: 3,
    fails: [SENT_VIEWS, THOUSAND, LARGE],
    make: sending(fromTheStart),
  },
  { fault: "gathers the first mebibyte", size: 2, fails: [LARGE], make: gathering(inPieces) },
  { fault: "broadcasts the first mebibyte", size: 2, fails: [LARGE], make: sending(inPieces) },
  {
    fault: "gathers floats, whose NaN are all the same",
    size: 2,
    fails: [BITS, GATHERED_VIEWS, THOUSAND],
    make: gathering(asFloats),
  },
  {
    fault: "broadcasts floats, whose NaN are all the same",
    size: 2,
    fails: [BITS, SENT_VIEWS],
    make: sending(asFloats),
  },
  {
    fault: "receives what is broadcast into one buffer for each length",
    size: 2,
    fails: [SENT_VIEWS, THOUSAND, USED_AGAIN],
    make: intoOneBuffer,
  },
  {
    fault: "gathers what was gathered before, at every 128th call",
    size: 3,
    fails: [THOUSAND, USED_AGAIN],
    make: staleAtTimes,
  },
  {
    fault: "adds to 0, so that the sum of -0 is 0",
    size: 2,
    fails: ["all-reduce/keeps-the-sign-of-zeros"],
    make: fromZero,
  },
];
