/** Runs the parts of a scenario in fresh processes, and reports the medians. */
import { columnTable } from "@mp/cli/training";
import type { BenchOptions } from "./command-line.js";
import type { ScenarioReport } from "./job.js";
import { idleMachine, isDisturbedBy } from "./processor-load.js";
import type { Figure } from "./scenarios/scenario.js";
import { scenarioNamed } from "./scenarios/scenarios.js";
import { askChild } from "./side.js";
import { median, toDecimals } from "./statistics.js";

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

const DECIMALS = 4;

export async function dissect(name: string, options: BenchOptions): Promise<ScenarioResult> {
  const scenario = scenarioNamed(name);
  const { choice, quick } = options;
  const rounds = quick ? 1 : (scenario.rounds ?? options.rounds);
  const runs: PartRun[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const part of scenario.parts) {
      const isIdle = await idleMachine(options.idleSeconds);
      const job = { kind: "scenario", scenario: name, part, choice, quick } as const;
      const report = await askChild<ScenarioReport>(job, scenario.environment);
      runs.push({ part, round, isDisturbed: isDisturbedBy(report.otherCores, isIdle), ...report });
    }
  }
  const medianFigure = (part: string, figure: string): number =>
    median(runs.filter((run) => run.part === part).map((run) => run.figures[figure] ?? Number.NaN));
  const figures = scenario
    .report(medianFigure)
    // NaN means that the engine does not report the figure.
    .filter(({ value }) => !Number.isNaN(value))
    .map((figure) => ({ ...figure, value: toDecimals(figure.value, DECIMALS) }));
  return { scenario: name, title: scenario.title, threads: choice.threads, figures, runs };
}

export function formatScenario({ scenario, title, figures, runs }: ScenarioResult): string {
  const table = columnTable(figures, {
    "": ({ name }) => name,
    median: ({ value }) => valueText(value),
    " ": ({ unit }) => unit,
    wanted: ({ bar }) => (bar === undefined ? "" : `at most ${valueText(bar)}`),
    "  ": ({ value, bar }) => (bar === undefined ? "" : value <= bar ? "within" : "over"),
  });
  const processes = `${runs.length} ${runs.length === 1 ? "process" : "processes"}`;
  const disturbed = runs.filter(({ isDisturbed }) => isDisturbed).length;
  const note = disturbed === 0 ? processes : `${processes}, ${disturbed} of them disturbed by others`;
  return `${scenario}: ${title} (${note})\n${table}`;
}

function valueText(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}
