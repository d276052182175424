/**
 * `node dist/data-parallel.js [WORKLOAD] [--accumulate N] [--rounds N] [--steps N] [--backend ort|tfjs]`: a step of two
 * ranks of one thread each beside a step of one rank of two threads, on the same number of samples, in fresh processes in
 * turn; and MPI's own all-reduce of as many bytes. It needs MPI: `npx mp-mpi install`.
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { RankJob, RankReport } from "./data-parallel/rank-steps.js";
import { askProcess } from "./fresh-process.js";
import { ENGINES } from "./job.js";
import { thisMachine } from "./machine.js";
import { median } from "./statistics.js";
import { nameOf, readWorkload, type SizedWorkload } from "./workloads/workloads.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    accumulate: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    steps: { type: "string", default: "15" },
    backend: { type: "string", default: "ort" },
  },
});
const engine = ENGINES.find((name) => name === values.backend);
const whole = readWorkload(positionals[0] ?? "w2");
if (engine === undefined || whole === undefined)
  throw new RangeError("data-parallel: no such engine or workload");

const command = join(dirname(fileURLToPath(import.meta.resolve("@mp/mpi"))), "mp-mpi.js");
const program = fileURLToPath(new URL("./rank-steps.js", import.meta.url));

function timed(ranks: 1 | 2, workload: SizedWorkload): Promise<RankReport> {
  const job: RankJob = {
    workload,
    choice: { engine: engine ?? "ort", device: "cpu", threads: 2 / ranks },
    accumulate: Number(values.accumulate),
    steps: Number(values.steps),
  };
  const words = ["run", "-n", String(ranks), process.execPath, program, JSON.stringify(job)];
  return askProcess<RankReport>(process.execPath, [command, ...words]);
}

const batch = whole.sizes["batch"];
if (typeof batch !== "number" || batch % 2 !== 0)
  throw new RangeError("data-parallel: an even batch is needed");
const half: SizedWorkload = { ...whole, sizes: { ...whole.sizes, batch: batch / 2 } };
const [one, two]: [RankReport[], RankReport[]] = [[], []];
for (let round = 0; round < Number(values.rounds); round++) {
  const sides = [async () => one.push(await timed(1, whole)), async () => two.push(await timed(2, half))];
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
}

const milliseconds = (reports: readonly RankReport[], key: "stepSeconds" | "allReduceSeconds"): number =>
  1000 * median(reports.map((report) => report[key]));
const { processor, cores, node } = thisMachine();
const ratios = two.map(({ stepSeconds }, round) => stepSeconds / (one[round]?.stepSeconds ?? Number.NaN));
console.log(`${processor}, ${cores} cores, node ${node}, ${new Date().toISOString().slice(0, 10)}
${nameOf(whole)} on ${engine}, accumulate ${values.accumulate}, medians of ${values.rounds} processes
one rank, two threads     ${milliseconds(one, "stepSeconds").toFixed(1)} ms
two ranks, a thread each  ${milliseconds(two, "stepSeconds").toFixed(1)} ms, ${median(ratios).toFixed(3)} times
MPI's all-reduce alone    ${milliseconds(two, "allReduceSeconds").toFixed(1)} ms`);
