/** Compares the times of our steps with those of peers, in fresh processes that take turns, by the ratio of medians. */
import { columnTable } from "@mp/cli/training";
import type { BenchOptions } from "./command-line.js";
import type { OwnStepReport, StepJob, StepReport } from "./job.js";
import { largestBatches } from "./largest-batch.js";
import { formatGain, type OperatorGain, operatorGain } from "./operator-gain.js";
import { idleMachine, isDisturbedBy } from "./processor-load.js";
import { ask, OURS, type SideName } from "./side.js";
import { median, toDecimals } from "./statistics.js";
import { displayName, type SizedWorkload } from "./workloads/workloads.js";

export interface SideRun extends StepReport {
  readonly side: string;
  readonly round: number;
  readonly medianMilliseconds: number;
  /** Whether other processes were busy during the measurement, so that the figure is only an indication. */
  readonly isDisturbed: boolean;
}

export interface WorkloadResult {
  /** The workload as on the command line: `w2:cells=1024`. */
  readonly workload: string;
  readonly title: string;
  readonly precision: string;
  readonly threads: number;
  readonly runs: readonly SideRun[];
  /** Median over processes of each process's median step time, by side: `mp` or a peer. */
  readonly medianMilliseconds: Readonly<Record<string, number>>;
  /** Our time divided by each peer's; a ratio of at most 1.05 counts as no slower. */
  readonly ratioOfMedians: Readonly<Record<string, number>>;
  readonly matrixGigaflops: number;
  /** The gain of each operator over float32, with `--operators`. */
  readonly operators?: OperatorGain;
  /** Largest batch by side, in the precision; with `--largest-batch`. */
  readonly largestBatch?: Readonly<Record<string, number>>;
}

const ATTEMPTS = 2;

async function runOnce(side: SideName, round: number, job: StepJob, options: BenchOptions): Promise<SideRun> {
  for (let attempt = 1; ; attempt++) {
    const isIdle = await idleMachine(options.idleSeconds);
    const report = await ask(side, job, options);
    const isDisturbed = isDisturbedBy(report.otherCores, isIdle);
    if (isDisturbed && attempt < ATTEMPTS && !options.quick) continue;
    return {
      side,
      round,
      medianMilliseconds: toDecimals(median(report.milliseconds), 3),
      isDisturbed,
      ...report,
    };
  }
}

/** Runs every round of a workload; `onRun` is called when each process ends. */
export async function compareWorkload(
  workload: SizedWorkload,
  options: BenchOptions,
  onRun: (run: SideRun) => void,
): Promise<WorkloadResult> {
  const { precision, warmup, steps, seconds } = options;
  const { threads } = options.choice;
  const job: StepJob = { ...workload, precision, threads, warmup, steps, seconds };
  const sides: readonly SideName[] = [OURS, ...options.against];
  const runs: SideRun[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    for (const side of round % 2 === 1 ? sides : sides.toReversed()) {
      const run = await runOnce(side, round, job, options);
      runs.push(run);
      onRun(run);
    }
  }
  const medians: Readonly<Record<string, number>> = Object.fromEntries(
    sides.map((side) => [
      side,
      median(runs.filter((run) => run.side === side).map((run) => run.medianMilliseconds)),
    ]),
  );
  const ratios = options.against.map((peer) => [
    peer,
    toDecimals((medians[OURS] ?? Number.NaN) / (medians[peer] ?? Number.NaN), 4),
  ]);
  const { title, matrixFlops } = runs.find(isOurs) ?? {
    title: displayName(workload),
    matrixFlops: Number.NaN,
  };
  return {
    workload: displayName(workload),
    title,
    precision,
    threads,
    runs,
    medianMilliseconds: medians,
    ratioOfMedians: Object.fromEntries(ratios),
    matrixGigaflops: matrixFlops / 1e9,
    ...(options.operators ? { operators: await operatorGain(workload, options) } : {}),
    ...(options.largestBatch === undefined
      ? {}
      : { largestBatch: await largestBatches(workload, options, options.largestBatch) }),
  };
}

const isOurs = (run: SideRun): run is SideRun & OwnStepReport => run.side === OURS;

export function formatRun(run: SideRun): string {
  const others = run.otherCores === null ? "" : `, others used ${run.otherCores} cores`;
  return `${run.side} ${run.round}: ${run.medianMilliseconds.toFixed(1)} ms${others}${run.isDisturbed ? " (disturbed)" : ""}`;
}

export function formatWorkload(result: WorkloadResult): string {
  const { workload, title, precision, threads, runs, matrixGigaflops } = result;
  const table = columnTable(runs, {
    side: ({ side }) => side,
    round: ({ round }) => String(round),
    "median ms": (run) => `${run.medianMilliseconds.toFixed(1)}${run.isDisturbed ? "*" : ""}`,
    "min ms": ({ milliseconds }) => Math.min(...milliseconds).toFixed(1),
    "GFLOP/s": (run) => ((matrixGigaflops / run.medianMilliseconds) * 1000).toFixed(0),
    steps: ({ milliseconds }) => String(milliseconds.length),
    "loss 1": ({ losses }) => lossText(losses[0]),
    "loss 6": ({ losses }) => lossText(losses[5]),
    "peak MB": ({ peakResidentBytes }) => (peakResidentBytes / 2 ** 20).toFixed(0),
    others: ({ otherCores }) => otherCores?.toFixed(2) ?? "",
  });
  const lines = [
    `${workload}: ${title}; ${precision}, ${threads} threads`,
    table,
    Object.entries(result.medianMilliseconds)
      .map(([side, time]) => `${side} ${time.toFixed(1)} ms`)
      .join(", "),
    ...Object.entries(result.ratioOfMedians).map(
      ([peer, ratio]) => `ours over ${peer}, ratio of medians: ${ratio.toFixed(3)}`,
    ),
  ];
  if (result.operators !== undefined) lines.push(formatGain(result.operators));
  for (const [side, batch] of Object.entries(result.largestBatch ?? {}))
    lines.push(`largest batch that fits, ${side}: ${batch}`);
  if (runs.some(({ isDisturbed }) => isDisturbed)) lines.push("* other processes used processors meanwhile");
  return lines.join("\n");
}

const lossText = (loss: number | undefined): string => (loss === undefined ? "" : loss.toFixed(5));
