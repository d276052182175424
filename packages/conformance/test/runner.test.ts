// The runner's own rules: three outcomes, known failures that must fail and fail as stated, leaks, time limits.

import { MpError } from "@mp/graph";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { type ConformanceCase, failuresOf, runConformance, universalCase } from "../src/index.js";
import { f32 } from "../src/small-graphs.js";
import { checkIds } from "../src/suite/all-cases.js";
import { caseGroup, chooseCases, inSuite, suiteCases } from "../src/suite/chosen-cases.js";
import { suiteTable } from "../src/suite/suite-table.js";
import { trainingCases } from "../src/training/cases/training-cases.js";

const factory = () => reference();
const passes = universalCase("made-up/case/passes", () => undefined);
const fails = universalCase("made-up/case/fails", () => {
  throw new Error("the sky is green");
});
const leaks = universalCase("made-up/case/leaks", async (backend) => {
  await backend.upload(f32(1, 2));
});
const refused: ConformanceCase = {
  id: "made-up/case/refused",
  unsupported: () => "no such thing",
  run: () => {
    throw new Error("was run all the same");
  },
  refuses: () => undefined,
};

const run = (cases: readonly ConformanceCase[], knownFailures = {}) =>
  runConformance({ factory, cases, knownFailures });

describe("runConformance", () => {
  it("gives one answer a case, as plain data", async () => {
    const report = await run([passes, fails, leaks, refused]);
    expect(report.outcomes.map(({ id, status }) => `${id} ${status}`)).toEqual([
      "made-up/case/passes passed",
      "made-up/case/fails failed",
      "made-up/case/leaks failed",
      "made-up/case/refused refused",
    ]);
    expect(report.counts).toEqual({ passed: 1, refused: 1, "known-failure": 0, failed: 2 });
    expect(report.ok).toBe(false);
    expect(failuresOf(report)).toEqual([
      "made-up/case/fails: Error: the sky is green",
      expect.stringMatching(/^made-up\/case\/leaks: leak: 1 live things of \d+ bytes, there were 0 of 0$/),
    ]);
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
  });

  it("counts a failure that is known, with its reason", async () => {
    const report = await run([fails], { [fails.id]: { reason: "it is evening", pattern: /sky is green/ } });
    expect(report.ok).toBe(true);
    expect(report.outcomes[0]).toMatchObject({ status: "known-failure", detail: "it is evening" });
  });

  it.each([
    ["passes", passes, /but passes: take it off the list/],
    ["refuses", refused, /but refuses as its manifest says/],
  ])("fails a known failure that %s", async (_, subject, words) => {
    const report = await run([subject], { [subject.id]: { reason: "long ago", pattern: /./ } });
    expect(report.ok).toBe(false);
    expect(report.outcomes[0]?.detail).toMatch(words);
  });

  it("fails a known failure that fails otherwise", async () => {
    const report = await run([fails], { [fails.id]: { reason: "long ago", pattern: /grass is blue/ } });
    expect(report.outcomes[0]).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("the sky is green"),
    });
  });

  it("fails for a known failure that names no case", async () => {
    const report = await run([passes], { "made-up/case/gone": { reason: "gone", pattern: /./ } });
    expect(report).toMatchObject({
      ok: false,
      problems: ["known failures: there is no case made-up/case/gone"],
    });
  });

  it("gives a case a fresh backend after one that failed", async () => {
    const seen: unknown[] = [];
    const look = (id: string) => universalCase(id, (backend) => void seen.push(backend));
    await run([look("made-up/case/one"), look("made-up/case/two"), leaks, look("made-up/case/three")]);
    expect(seen[0]).toBe(seen[1]);
    expect(seen[2]).not.toBe(seen[1]);
  });

  it("is not ok when no case was run", async () => {
    const report = await runConformance({ factory, cases: [] });
    expect(report.ok).toBe(false);
    expect(report.problems).toEqual(["no case was run: `cases` is empty"]);
  });

  it("ends a case that does not end", async () => {
    const hangs = universalCase("made-up/case/hangs", () => new Promise(() => undefined));
    const report = await runConformance({ factory, cases: [hangs, passes], timeoutMs: 20 });
    expect(report.outcomes.map(({ status }) => status)).toEqual(["failed", "passed"]);
    expect(report.outcomes[0]?.detail).toContain("not done after 20 ms");
  });

  it("says with which code a backend fails", async () => {
    const coded = universalCase("made-up/case/coded", () => {
      throw new MpError("MP_BACKEND_FAILED", "the engine is off");
    });
    const { outcomes } = await run([coded]);
    expect(outcomes[0]?.detail).toBe("MP_BACKEND_FAILED: the engine is off");
  });

  it("passes the seed on, and the same numbers for the same seed", async () => {
    const drawn: number[] = [];
    const draw = universalCase(
      "made-up/case/draws",
      (_, { random, seed }) => void drawn.push(seed, random.next()),
    );
    for (const seed of [5, 5, 6]) await runConformance({ factory, cases: [draw], seed });
    expect(drawn.slice(0, 2)).toEqual(drawn.slice(2, 4));
    expect(drawn[5]).not.toBe(drawn[1]);
  });
});

describe("the suite", () => {
  const all = chooseCases({ cases: "all", training: trainingCases });
  const suite = chooseCases({ training: trainingCases });

  it("has ids that are unique and of one form", () => {
    expect(() => checkIds(all)).not.toThrow();
    expect(() => checkIds([passes, passes])).toThrow("two cases");
    expect(() => checkIds([universalCase("Odd", () => undefined)])).toThrow("group/feature/behaviour");
  });

  it("is chosen by default, and a list is run as it is", () => {
    expect(chooseCases({})).toEqual(suiteCases);
    expect(chooseCases({ cases: [passes], training: [fails] })).toEqual([passes, fails]);
  });

  it("keeps the first dtype of a claim, and the same others each time", () => {
    const dtypes = ["f32", "f16", "bf16", "i32", "i64", "u8"];
    const cases = dtypes.flatMap((dtype) =>
      ["gradient", "option", "op"].map((group) =>
        universalCase(`${group}/Add-${dtype}/every-axis`, () => undefined),
      ),
    );
    const kept = inSuite(cases).map(({ id }) => id);
    const count = (group: string): number => kept.filter((id) => id.startsWith(`${group}/`)).length;
    expect([count("gradient"), count("option"), count("op")]).toEqual([4, 6, 3]);
    expect(inSuite(cases).map(({ id }) => id)).toEqual(kept);
  });

  it("has a line for each group, and of each group so many cases", () => {
    const count = (cases: readonly ConformanceCase[], group: string): number =>
      cases.filter((subject) => caseGroup(subject) === group).length;
    const groups = [...new Set(all.map(caseGroup))];
    expect(Object.keys(suiteTable).sort()).toEqual([...groups].sort());
    expect(
      Object.fromEntries(groups.map((group) => [group, `${count(suite, group)} of ${count(all, group)}`])),
    ).toMatchInlineSnapshot(`
      {
        "accumulate": "8 of 8",
        "aliasing": "42 of 42",
        "autocast": "38 of 38",
        "axis": "63 of 63",
        "cast": "109 of 109",
        "constant": "5 of 5",
        "custom-gradient": "94 of 130",
        "determinism": "5 of 5",
        "equal-sides": "67 of 67",
        "factory": "11 of 11",
        "finite-check": "22 of 22",
        "form": "91 of 91",
        "fusion": "5 of 5",
        "gradient": "144 of 216",
        "image": "8 of 8",
        "in-place": "4 of 4",
        "integer": "193 of 193",
        "large-state": "11 of 11",
        "leak": "6 of 6",
        "lifecycle": "17 of 17",
        "live-arrays": "11 of 11",
        "loop": "27 of 27",
        "loss-scale": "5 of 5",
        "manifest": "30 of 30",
        "many": "4 of 4",
        "many-runs": "9 of 9",
        "master-weights": "14 of 14",
        "names": "4 of 4",
        "objectives": "2 of 2",
        "op": "1144 of 1552",
        "option": "31 of 31",
        "order": "25 of 25",
        "program": "43 of 77",
        "public-bugs": "8 of 8",
        "random": "12 of 12",
        "ranks": "23 of 30",
        "rare": "251 of 251",
        "recipe": "13 of 13",
        "reduce": "81 of 81",
        "remat": "1 of 1",
        "repeat": "21 of 21",
        "resume": "2 of 5",
        "retry": "1 of 1",
        "rewrite": "200 of 272",
        "run": "14 of 14",
        "size": "101 of 101",
        "skip": "11 of 11",
        "state": "38 of 38",
        "stats": "12 of 12",
        "summation": "167 of 167",
        "tail": "114 of 114",
        "transfer": "52 of 52",
      }
    `);
  });
});
