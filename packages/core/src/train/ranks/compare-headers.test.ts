import { describe, expect, it } from "vitest";
import { compareHeaders, type Header } from "./compare-headers.js";

const agree = (...headers: readonly Header[]) => compareHeaders(headers.map((each) => JSON.stringify(each)));
const step = (facts: Readonly<Record<string, string | number>> = {}): Header => ({
  call: "step",
  facts: { step: 3, ...facts },
});
const end = (by: string): Header => ({ call: "end", facts: { by } });
const mismatch = (rank: number, message: RegExp) =>
  expect.objectContaining({
    code: "MP_RANK_MISMATCH",
    message: expect.stringMatching(message) as string,
    details: expect.objectContaining({ rank }) as object,
  }) as Error;

describe("headers of ranks", () => {
  it("lets them go on if all say the same", () => {
    expect(agree(step(), step(), step())).toBeUndefined();
  });

  it("ends all of them, as one that was stopped or as all", () => {
    expect(agree(end("epochs"), end("epochs"))).toBe("epochs");
    expect(agree(step(), end("stopped"))).toBe("stopped");
    expect(agree(end("stopped"), end("aborted"), step())).toBe("aborted");
    expect(agree(end("steps"), end("aborted"))).toBe("aborted");
  });

  it.each<readonly [string, readonly Header[], number, RegExp]>([
    [
      "another fact",
      [step(), step(), step({ step: 4 })],
      2,
      /rank 2 differs from rank 0 at step: step is 4 instead of 3/,
    ],
    ["a fact that is missing", [step({ rates: "a" }), step()], 1, /rates is missing instead of a/],
    ["a fact too many", [step(), step({ rates: "a" })], 1, /rates is a instead of missing/],
    ["another call", [step(), { call: "save", facts: {} }], 1, /rank 1 calls save where rank 0 makes step 3/],
    [
      "the end of the data",
      [{ call: "pass", facts: { pass: 1 } }, step()],
      1,
      /rank 1 makes step 3 where rank 0 is at the end of its data \(pass 1\)/,
    ],
    ["an end by the options", [step(), end("steps")], 1, /rank 1 ends training \(steps\) where rank 0/],
    ["a failure", [step(), { failed: "no memory" }, end("stopped")], 1, /rank 1 failed: no memory/],
  ])("is an error on all of them for %s", (_name, said, rank, message) => {
    expect(() => agree(...said)).toThrow(mismatch(rank, message));
  });
});
