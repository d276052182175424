import { describe, expect, it } from "vitest";
import { inProcessRanks } from "../src/index.js";

const [first, second] = inProcessRanks(2);

describe("ranks of one process", () => {
  it("know who they are", () => {
    expect(inProcessRanks(3).map(({ rank, size }) => [rank, size])).toEqual([
      [0, 3],
      [1, 3],
      [2, 3],
    ]);
    expect(() => inProcessRanks(0)).toThrow(/must be a number of ranks, got 0/);
  });

  it("add in f32, in the order of ranks, infinities and NaN included", async () => {
    const ranks = inProcessRanks(3);
    const values = [
      Float32Array.of(1, 2 ** 24, Number.POSITIVE_INFINITY, Number.NaN),
      Float32Array.of(2, 1, 1, 1),
      Float32Array.of(3, 1, 1, 1),
    ];
    await Promise.all(ranks.map((rank, at) => rank.allReduce(values[at] as Float32Array)));
    for (const sum of values) expect([...sum]).toEqual([6, 2 ** 24, Number.POSITIVE_INFINITY, Number.NaN]);
  });

  it("gather bytes of any length, and copies of them", async () => {
    const own = Uint8Array.of(1);
    const [a, b] = await Promise.all([first?.allGather(own), second?.allGather(Uint8Array.of(2, 3))]);
    expect(a).toEqual([Uint8Array.of(1), Uint8Array.of(2, 3)]);
    expect(b).toEqual(a);
    own[0] = 9;
    (a?.[1] as Uint8Array)[0] = 9;
    expect(b).toEqual([Uint8Array.of(1), Uint8Array.of(2, 3)]);
  });

  it("pass on the bytes of rank 0, and wait for each other", async () => {
    const all = [first?.broadcast(Uint8Array.of(7)), second?.broadcast()];
    expect(await Promise.all(all)).toEqual([Uint8Array.of(7), Uint8Array.of(7)]);
    let isOver = false;
    const waiting = first?.barrier().then(() => {
      isOver = true;
    });
    await new Promise((resolve) => setTimeout(resolve));
    expect(isOver).toBe(false);
    await Promise.all([waiting, second?.barrier()]);
    expect(isOver).toBe(true);
  });

  it.each([
    [
      "other collectives",
      (ranks: readonly ReturnType<typeof inProcessRanks>[number][]) => [
        ranks[0]?.barrier(),
        ranks[1]?.allGather(new Uint8Array()),
      ],
      "rank 1 called allGather where rank 0 called barrier",
    ],
    [
      "other lengths",
      (ranks: readonly ReturnType<typeof inProcessRanks>[number][]) => [
        ranks[0]?.allReduce(new Float32Array(2)),
        ranks[1]?.allReduce(new Float32Array(3)),
      ],
      "allReduce got 3 values of rank 1 and 2 of rank 0",
    ],
    [
      "two at a time",
      (ranks: readonly ReturnType<typeof inProcessRanks>[number][]) => [
        ranks[0]?.barrier(),
        ranks[0]?.barrier(),
      ],
      "rank 0 called barrier before its barrier was done",
    ],
  ])("all fail, then and later: %s", async (_name, call, message) => {
    const ranks = inProcessRanks(2);
    const error = { code: "MP_INVALID_ARGUMENT", message: `inProcessRanks: ${message}` };
    for (const settled of await Promise.allSettled(call(ranks)))
      expect(settled).toMatchObject({ status: "rejected", reason: error });
    for (const rank of ranks) await expect(rank.barrier()).rejects.toMatchObject(error);
  });

  it("all end with the error of the one that aborts", async () => {
    const ranks = inProcessRanks(2);
    const waiting = expect(ranks[0]?.barrier()).rejects.toThrow("broken");
    expect(() => ranks[1]?.abort(new Error("broken"))).toThrow("broken");
    await waiting;
    await expect(ranks[1]?.barrier()).rejects.toThrow("broken");
  });
});
