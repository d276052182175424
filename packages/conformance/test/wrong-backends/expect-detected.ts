/**
 * The suite is only as good as the faults that it detects: every deliberately wrong backend fails the cases that name
 * its fault, and no others except known consequences of the fault. It fails the former at the tolerance that engines
 * declare, and so at a smaller one, too.
 */
import type { Backend } from "@mp/graph";
import { libraryTolerance } from "@mp/graph/backend";
import { expect, it } from "vitest";
import { seed } from "../../../safetensors/test/soak/size.js";
import type { ConformanceCase } from "../../src/conformance-case.js";
import { delegate } from "../../src/delegate.js";
import { inAnyOrder, randomSource } from "../../src/random-source.js";
import { caseGroup, chooseCases } from "../../src/suite/chosen-cases.js";
import { type ConformanceOptions, runConformance } from "../../src/suite/run-conformance.js";
import { trainingCases } from "../../src/training/cases/training-cases.js";
import type { WrongBackend } from "./wrong-backend.js";

export const suite: readonly ConformanceCase[] = chooseCases({ training: trainingCases });

/** The suite's cases of some groups, except those that take minutes when the oracle runs node by node. */
export const casesOf = (groups: readonly string[], among: RegExp = /./): readonly ConformanceCase[] =>
  suite.filter(
    (subject) =>
      groups.includes(caseGroup(subject)) &&
      among.test(subject.id) &&
      !/\/(random-bits|every-bit-pattern)$/.test(subject.id),
  );

/** The failures of a run, one line each. */
export async function failures(options: ConformanceOptions): Promise<readonly string[]> {
  const { outcomes } = await runConformance(options);
  return outcomes.filter(({ status }) => status === "failed").map(({ id, detail }) => `${id}: ${detail}`);
}

/** `npm run soak -- wrong-backends` draws many more cases of a fault's groups, with a seed that it prints. */
const drawnSeed = process.env["MP_SOAK_SEED"];
const OTHERS = drawnSeed === undefined ? 3 : 40;

/** A third of the cases, others each day, for backends that must pass them all; in a soak all. */
export function shareOf(cases: readonly ConformanceCase[]): readonly ConformanceCase[] {
  const random = randomSource(seed, "share");
  return cases.filter(() => random.next() < 1 / 3 || drawnSeed !== undefined);
}

/** The backend, if it declares to be exact, with the tolerance that backends are told to declare. */
async function atLibraryTolerance(factory: WrongBackend["factory"]): Promise<Backend> {
  const backend = await factory();
  const { tolerance } = backend.manifest;
  const { default: own, ...ofOps } = tolerance;
  const declared = own.f32 === 0 ? { ...libraryTolerance, ...ofOps } : tolerance;
  return delegate(backend, { manifest: { ...backend.manifest, tolerance: declared } });
}

/** One test for each wrong backend. */
export function expectDetected(faults: readonly WrongBackend[]): void {
  it.each(faults.map((wrong) => [wrong.fault, wrong] as const))(
    "%s",
    async (fault, { factory, axes, among, named, consequences = [], message }) => {
      const all = casesOf(axes, among);
      const naming = all.filter(({ id }) => named.includes(id));
      expect(naming.map(({ id }) => id).toSorted()).toEqual([...named].toSorted());
      const others = all.filter(({ id }) => !named.includes(id));
      const random = randomSource(Number(drawnSeed ?? 1), fault);
      const detected = await runConformance({ factory: () => atLibraryTolerance(factory), cases: naming });
      expect(detected.outcomes.filter(({ status }) => status !== "failed").map(({ id }) => id)).toEqual([]);
      const some = inAnyOrder(random, others).slice(0, OTHERS);
      const strays = (await runConformance({ factory, cases: some })).outcomes.filter(
        ({ status }) => status === "failed",
      );
      const astray = strays.filter(({ id }) => !consequences.some((pattern) => pattern.test(id)));
      expect(astray.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
      if (message !== undefined) {
        const unlike = [...detected.outcomes, ...strays].filter(({ detail }) => !message.test(detail));
        expect(unlike.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
      }
    },
  );
}
