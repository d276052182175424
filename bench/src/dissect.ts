/** Scenarios: what the parts of our own step cost, each part in separate fresh processes. */
import { fileURLToPath } from "node:url";
import { textTable } from "@mp/cli/training";
import type { BenchOptions } from "./command-line.js";
import { askProcess } from "./fresh-process.js";
import type { ChildJob, ScenarioReport } from "./job.js";
import { idleMachine, isDisturbedBy } from "./processor-load.js";
import type { Figure } from "./scenarios/scenario.js";
import { scenarioNamed } from "./scenarios/scenarios.js";
import { median, rounded } from "./statistics.js";

export interface PartRun extends ScenarioReport {
  readonly part: string;
  readonly round: number;
  readonly isDisturbed: boolean;
}

export interface ScenarioResult {
  readonly scenario: string;
  readonly title: string;
  readonly threads: number;
  readonly figures: readonly Figure[];
  readonly runs: readonly PartRun[];
}

const CHILD = fileURLToPath(new URL("./child.js", import.meta.url));
const DECIMALS = 4;

export async function dissect(name: string, options: BenchOptions): Promise<ScenarioResult> {
  const scenario = scenarioNamed(name);
  const { choice, quick } = options;
  const rounds = quick ? 1 : (scenario.rounds ?? options.rounds);
  const runs: PartRun[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const part of scenario.parts) {
      const isIdle = await idleMachine(options.idleSeconds);
      const job: ChildJob = { kind: "scenario", scenario: name, part, choice, quick };
      const report = await askProcess<ScenarioReport>(
        process.execPath,
        [CHILD, JSON.stringify(job)],
        scenario.environment,
      );
      runs.push({ part, round, isDisturbed: isDisturbedBy(report.otherCores, isIdle), ...report });
    }
  }
  const measured = (part: string, figure: string): number =>
    median(runs.filter((run) => run.part === part).map((run) => run.figures[figure] ?? Number.NaN));
  const figures = scenario
    .report(measured)
    // What an engine does not report has no figure.
    .filter(({ value }) => !Number.isNaN(value))
    .map((figure) => ({ ...figure, value: rounded(figure.value, DECIMALS) }));
  return { scenario: name, title: scenario.title, threads: choice.threads, figures, runs };
}

export function formatScenario({ scenario, title, figures, runs }: ScenarioResult): string {
  const rows = figures.map(({ name, value, unit, bar }) => [
    name,
    valueText(value),
    unit,
    bar === undefined ? "" : `at most ${valueText(bar)}`,
    bar === undefined ? "" : value <= bar ? "within" : "over",
  ]);
  const processes = `${runs.length} ${runs.length === 1 ? "process" : "processes"}`;
  const disturbed = runs.filter(({ isDisturbed }) => isDisturbed).length;
  const note = disturbed === 0 ? processes : `${processes}, ${disturbed} of them disturbed by others`;
  const texts = runs
    .filter(({ round }) => round === 1)
    .flatMap(({ text }) => (text === undefined ? [] : [text]));
  return [
    `${scenario}: ${title} (${note})`,
    textTable(["", "median", "", "wanted", ""], rows),
    ...texts,
  ].join("\n");
}

function valueText(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}
