import type { Ranks } from "@mp/graph";
import { ConformanceFailure } from "../expectations.js";
import { allReduceCases } from "./all-reduce-cases.js";
import { exchangeCases } from "./exchange-cases.js";
import type { RanksCase } from "./ranks-case.js";
import { scriptCases } from "./script-cases.js";

/** The outcome of a case on one rank. */
export interface RanksOutcome {
  /** `collective/behavior` */
  readonly id: string;
  /** The failure on this rank; undefined if the case passed. */
  readonly failure: string | undefined;
}

const CASES: readonly RanksCase[] = [...exchangeCases, ...allReduceCases, ...scriptCases];

/**
 * Runs the cases that every implementation of `Ranks` must pass. Call it on all ranks of a job at the same time: in
 * each process for its own rank, or by `Promise.all` for ranks of one process. The implementation is right if all
 * ranks pass. `timeoutMs` limits one case, 60 000 by default; after a case that does not end, the others fail, too.
 * @returns one outcome per case, in the same order on every rank
 */
export async function runRanksConformance(
  ranks: Ranks,
  { timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {},
): Promise<readonly RanksOutcome[]> {
  const outcomes: RanksOutcome[] = [];
  let stopped: string | undefined;
  for (const { id, run } of CASES) {
    const failure: string | undefined = stopped ?? (await findFailure(run(ranks), timeoutMs));
    if (failure?.startsWith(ENDLESS)) stopped = `not run, since ${id} did not end`;
    outcomes.push({ id, failure });
  }
  return outcomes;
}

const ENDLESS = "did not end";

async function findFailure(run: Promise<void>, timeoutMs: number): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`${ENDLESS} within ${timeoutMs} ms`), timeoutMs);
  });
  const done = run.then(
    () => undefined,
    (error: unknown) => (error instanceof ConformanceFailure ? error.message : String(error)),
  );
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
