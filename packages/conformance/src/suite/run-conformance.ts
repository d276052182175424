import { type Factory, Judge } from "../judge.js";
import { type KnownFailures, strayEntries } from "../known-failures.js";
import { progressLine } from "../progress-line.js";
import { failuresOf, type Outcome, type Report, type Status } from "../report.js";
import { checkIds } from "./all-cases.js";
import { type CaseOptions, chooseCases } from "./chosen-cases.js";

export interface ConformanceOptions extends CaseOptions {
  /** Creates a backend; called more than once. */
  readonly factory: Factory;
  /** Cases that fail for a reason outside of the backend, by id. An entry whose case passes fails the run. */
  readonly knownFailures?: KnownFailures;
  /** Seed of all random data; failure messages include it. Default 1. */
  readonly seed?: number;
  /** Time limit for each case; default 60 000. */
  readonly timeoutMs?: number;
  /** Called with the outcome of each case when it ends. */
  readonly onOutcome?: (outcome: Outcome) => void;
}

/**
 * Runs the suite against a backend and returns a report as plain data. Faults of the backend never make it throw; if
 * no backend can be created, the factory's error is thrown unchanged. If standard error is a terminal, a line there
 * shows how many cases have ended.
 */
export async function runConformance(options: ConformanceOptions): Promise<Report> {
  const { factory, knownFailures = {}, seed = 1, timeoutMs = 60_000, onOutcome } = options;
  const cases = chooseCases(options);
  checkIds(cases);
  const judge = new Judge({ factory, knownFailures, seed, timeoutMs });
  const { name, manifest } = await judge.backend();
  const outcomes: Outcome[] = [];
  const progress = progressLine(cases.length);
  for (const subject of cases) {
    const outcome = await judge.judge(subject);
    outcomes.push(outcome);
    if (onOutcome !== undefined) {
      progress.clear();
      onOutcome(outcome);
    }
    progress.add(outcome);
  }
  progress.clear();
  await judge.dispose();
  const problems = [
    ...strayEntries(knownFailures, cases),
    ...(cases.length === 0 ? ["no case was run: `cases` is empty"] : []),
  ];
  const count = (status: Status): number => outcomes.filter((outcome) => outcome.status === status).length;
  return {
    backend: name,
    engine: manifest.engine,
    device: manifest.device,
    seed,
    ok: failuresOf({ outcomes, problems }).length === 0,
    counts: {
      passed: count("passed"),
      refused: count("refused"),
      "known-failure": count("known-failure"),
      failed: count("failed"),
    },
    outcomes,
    problems,
  };
}
