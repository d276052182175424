/** The suite as vitest tests: one test per case. */
import { afterAll, describe, expect, it } from "vitest";
import type { ConformanceCase } from "../conformance-case.js";
import { Judge } from "../judge.js";
import { strayEntries } from "../known-failures.js";
import { allCases, checkIds } from "../suite/all-cases.js";
import type { ConformanceOptions } from "../suite/run-conformance.js";
import { suitePart } from "../suite/suite-part.js";

export interface DescribedOptions extends ConformanceOptions {
  /**
   * Number of parts of the cases, of which one is run: that of the day, or `MP_SUITE=<number>`, and all of them with
   * `MP_SUITE=whole`. Default 1.
   */
  readonly parts?: number;
}

/** A backend's whole test file: `describeConformance({ factory: () => ort(), knownFailures })`. */
export function describeConformance(options: DescribedOptions): void {
  const { factory, knownFailures = {}, cases = allCases, seed = 1, timeoutMs = 60_000, onOutcome } = options;
  checkIds(cases);
  const chosen = suitePart(cases, options.parts ?? 1, ({ id }) => Object.hasOwn(knownFailures, id));
  const judge = new Judge({ factory, knownFailures, seed, timeoutMs });
  describe("conformance", () => {
    afterAll(() => judge.dispose());
    it("known failures name cases", () => {
      expect(strayEntries(knownFailures, cases)).toEqual([]);
    });
    for (const [group, members] of byGroup(chosen)) {
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
    const group = subject.id.slice(0, subject.id.indexOf("/"));
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [subject]);
    else members.push(subject);
  }
  return groups;
}
