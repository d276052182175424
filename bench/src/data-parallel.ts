/**
 * `node dist/data-parallel.js [WORKLOAD] [--accumulate N] [--rounds N] [--steps N] [--precision float32] [--backend
 * ort]`: compares steps of one rank with two threads and of two ranks with one thread each, on the same number of
 * samples, with and without `shard: "optimizer"`, in fresh processes that take turns. Also prints the memory of a
 * rank's state, and the time of MPI's all-reduce for a buffer of the gradients' size. Needs MPI: `npx --no mp-mpi
 * install`.
 */
import { parseArgs } from "node:util";
import { askRanks } from "./ask-ranks.js";
import type { RankJob, RankReport } from "./data-parallel/rank-steps.js";
import { ENGINES, PRECISIONS } from "./job.js";
import { thisMachine } from "./machine.js";
import { median } from "./statistics.js";
import { displayName, readWorkload, type SizedWorkload } from "./workloads/workloads.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    accumulate: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    steps: { type: "string", default: "15" },
    precision: { type: "string", default: "float32" },
    backend: { type: "string", default: "ort" },
  },
});
const engine = ENGINES.find((name) => name === values.backend);
const precision = PRECISIONS.find((name) => name === values.precision);
const whole = readWorkload(positionals[0] ?? "w2");
if (engine === undefined || precision === undefined || whole === undefined)
  throw new RangeError("data-parallel: no such engine, precision or workload");

/** The processes of one measurement: how many, on which workload, and whether they shard the optimizer. */
interface Side {
  readonly ranks: 1 | 2;
  readonly workload: SizedWorkload;
  readonly isSharded: boolean;
  readonly reports: RankReport[];
}

async function time({ ranks, workload, isSharded, reports }: Side): Promise<void> {
  const job: RankJob = {
    workload,
    choice: { engine: engine ?? "ort", device: "cpu", threads: 2 / ranks },
    precision: precision ?? "float32",
    accumulate: Number(values.accumulate),
    isSharded,
    steps: Number(values.steps),
  };
  reports.push(await askRanks<RankReport>(ranks, "./rank-steps.js", JSON.stringify(job)));
}

const batch = whole.sizes["batch"];
if (typeof batch !== "number" || batch % 2 !== 0)
  throw new RangeError("data-parallel: an even batch is needed");
const half: SizedWorkload = { ...whole, sizes: { ...whole.sizes, batch: batch / 2 } };
const one: Side = { ranks: 1, workload: whole, isSharded: false, reports: [] };
const two: Side = { ranks: 2, workload: half, isSharded: false, reports: [] };
const sharded: Side = { ...two, isSharded: true, reports: [] };
for (let round = 0; round < Number(values.rounds); round++) {
  const sides = [one, two, sharded];
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) await time(side);
}

const milliseconds = ({ reports }: Side, key: "stepSeconds" | "allReduceSeconds" | "reductionSeconds") =>
  1000 * median(reports.map((report) => report[key]));
/** Formats the median over the rounds of `side`'s step time divided by `by`'s. */
const times = (side: Side, by: Side): string =>
  median(
    side.reports.map(
      ({ stepSeconds }, round) => stepSeconds / (by.reports[round]?.stepSeconds ?? Number.NaN),
    ),
  ).toFixed(3);
const megabytes = ({ reports }: Side, slots: RegExp): number =>
  Object.entries(reports[0]?.slotBytes ?? {}).reduce(
    (sum, [slot, bytes]) => sum + (slots.test(slot) ? bytes / 1e6 : 0),
    0,
  );
const memoryLine = (what: string, slots: RegExp): string => {
  const [undivided, divided] = [megabytes(two, slots), megabytes(sharded, slots)];
  const share = undivided === 0 ? "" : `, ${(divided / undivided).toFixed(3)} times`;
  return `${what.padEnd(26)}${undivided.toFixed(1)} MB, divided ${divided.toFixed(1)} MB${share}`;
};
const [undividedLosses, dividedLosses] = [two, sharded].map(({ reports }) => reports[0]?.losses ?? []) as [
  readonly number[],
  readonly number[],
];
const lossDifference = Math.max(
  ...undividedLosses.map((loss, step) => Math.abs((dividedLosses[step] ?? Number.NaN) / loss - 1)),
);
const { processor, cores, node } = thisMachine();
console.log(`${processor}, ${cores} cores, node ${node}, ${new Date().toISOString().slice(0, 10)}
${displayName(whole)} on ${engine}, ${precision}, accumulate ${values.accumulate}, medians of ${values.rounds} processes
one rank, two threads     ${milliseconds(one, "stepSeconds").toFixed(1)} ms
two ranks, a thread each  ${milliseconds(two, "stepSeconds").toFixed(1)} ms, ${times(two, one)} times
optimizer divided         ${milliseconds(sharded, "stepSeconds").toFixed(1)} ms, ${times(sharded, two)} times two ranks that do not; losses differ by ${lossDifference === 0 ? 0 : lossDifference.toExponential(1)} at most
gradients summed in       ${milliseconds(two, "reductionSeconds").toFixed(1)} ms
MPI's all-reduce alone    ${milliseconds(two, "allReduceSeconds").toFixed(1)} ms
A rank keeps:
${memoryLine("masters and moments", /^(master(?!\/copy\/)|optimizer)\//)}
${memoryLine("copies of the weights", /^master\/copy\//)}
${memoryLine("all but the window", /^(?!window\/)/)}
${memoryLine("with the window", /^/)}`);
