/** The suite as vitest tests: one test per case. */
import { afterAll, describe, expect, it } from "vitest";
import type { ConformanceCase } from "../conformance-case.js";
import { Judge } from "../judge.js";
import { strayEntries } from "../known-failures.js";
import { checkIds } from "../suite/all-cases.js";
import { caseGroup, chooseCases } from "../suite/chosen-cases.js";
import type { ConformanceOptions } from "../suite/run-conformance.js";

/** A backend's whole test file: `describeConformance({ factory: () => ort(), knownFailures })`. */
export function describeConformance(options: ConformanceOptions): void {
  const { factory, knownFailures = {}, seed = 1, timeoutMs = 60_000, onOutcome } = options;
  const cases = chooseCases(options);
  checkIds(cases);
  const judge = new Judge({ factory, knownFailures, seed, timeoutMs });
  describe("conformance", () => {
    afterAll(() => judge.dispose());
    it("known failures name cases", () => {
      expect(strayEntries(knownFailures, cases)).toEqual([]);
    });
    for (const [group, members] of byGroup(cases)) {
      describe(group, () => {
        for (const subject of members) {
          it(
            subject.id.slice(group.length + 1),
            async () => {
              const outcome = await judge.judge(subject);
              onOutcome?.(outcome);
              if (outcome.status === "failed") expect.fail(`${outcome.id}: ${outcome.detail}`);
            },
            // Longer than the judge's own limit, so that the judge reports the timeout.
            timeoutMs + 10_000,
          );
        }
      });
    }
  });
}

function byGroup(cases: readonly ConformanceCase[]): ReadonlyMap<string, readonly ConformanceCase[]> {
  const groups = new Map<string, ConformanceCase[]>();
  for (const subject of cases) {
    const group = caseGroup(subject);
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [subject]);
    else members.push(subject);
  }
  return groups;
}
