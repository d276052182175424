import { describe, expect, it } from "vitest";
import { startRanks } from "./start-ranks.js";

describe("two ranks", () => {
  it("add 25 MB in f32: right, the same bits on both and in repeats, with the event loop alive", async () => {
    const { code, said, errors } = await startRanks("sums");
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    const [first, second] = said;
    expect(first).toEqual(second);
    expect(first?.[0]).toEqual({ right: true });
    const [bits] = (first?.[1] as { bits: readonly string[] } | undefined)?.bits ?? [];
    expect(first?.[1]).toEqual({ bits: [bits, bits, bits], ticked: true });
  });

  it("meet every claim of the conformance suite", async () => {
    const { code, said } = await startRanks("conformance");
    const passed = [{ ran: true, failures: [] }];
    expect({ code, said }).toEqual({ code: 0, said: [passed, passed] });
  });

  it("form one mean of losses with weights, and skip together what counts nowhere", async () => {
    const { code, said } = await startRanks("weights");
    const mean = (1 * 1 + 3 * 9 + 4 * 6) / 16;
    const lines = [
      { applied: true, weight: 16, metrics: { g: mean }, w: -mean },
      { applied: false, reason: "no weight", counters: { applied: 1, iteration: 2, skipped: 1, scale: 1 } },
    ];
    expect({ code, said }).toEqual({ code: 0, said: [lines, lines] });
  });

  it("do one collective after the other, however they are called", async () => {
    const { code, said } = await startRanks("queue");
    expect({ code, said }).toEqual({ code: 0, said: [[[1, 3, 5]], [[1, 3, 5]]] });
  });

  it("start and end MPI once", async () => {
    const { code, said } = await startRanks("again");
    expect(code).toBe(0);
    const again = {
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining("starts once in a process"),
    };
    const disposed = expect.objectContaining({ code: "MP_DISPOSED" });
    expect(said).toEqual([
      [again, [disposed, disposed, again]],
      [again, [disposed, disposed, again]],
    ]);
  });

  it("all get one error where lengths differ, then and later, and the job fails", async () => {
    const { code, said } = await startRanks("lengths");
    const outcome = {
      code: "MP_RANK_MISMATCH",
      message: expect.stringContaining("rank 0 calls allReduce of 8 bytes, rank 1 allReduce of 12 bytes"),
    };
    expect(said.flat()).toContainEqual({ outcome, after: outcome });
    expect(code).not.toBe(0);
  });

  it.each([
    ["others", "rank 0 calls barrier of 0 bytes, rank 1 broadcast of 0 bytes"],
    ["early", "rank 0 calls dispose of 0 bytes, rank 1 barrier of 0 bytes"],
  ])("all get one error where they call different collectives: %s", async (scenario, words) => {
    const { code, said } = await startRanks(scenario);
    expect(said.flat()).toContainEqual({
      code: "MP_RANK_MISMATCH",
      message: expect.stringContaining(words),
    });
    expect(code).not.toBe(0);
  });
});

/** How long the launcher may take after one rank has ended. */
const MOST_SECONDS = 60;

describe("the end of one rank ends the job", () => {
  it.each([
    ["kill -9", "death", ""],
    ["an exception", "exception", "rank 1 of 2: Error: a defect of the program"],
    ["process.exit without dispose", "leaves", "rank 1 of 2: mpi: the process ended without dispose"],
    ["abort", "aborts", "rank 1 of 2: Error: enough"],
  ])("%s", async (_name, scenario, words) => {
    const { code, errors, seconds } = await startRanks(scenario);
    expect(code).not.toBe(0);
    expect(errors).toContain(words);
    expect(seconds).toBeLessThan(MOST_SECONDS);
  });

  it("and a rank that does not come, after the timeout", async () => {
    const { code, errors, seconds } = await startRanks("late", "1000");
    expect(code).not.toBe(0);
    expect(errors).toMatch(/^rank 0 of 2: mpi: barrier was not joined .* 1000 ms .*\[MP_BACKEND_FAILED\]$/m);
    expect(seconds).toBeLessThan(MOST_SECONDS);
  });
});
