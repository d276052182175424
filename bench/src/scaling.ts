/**
 * `node dist/scaling.js [--write]`: measures a step of the LSTM workload W2 on one rank, and the all-reduce of its
 * gradients between two ranks of this machine. From these two times it simulates data-parallel steps on up to 1024
 * ranks, then prints the page, or with `--write` puts it into docs/data-parallel-scaling.md. The program needs MPI:
 * `npx --no mp-mpi install`.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { askRanks } from "./ask-ranks.js";
import { PRECISIONS, type StepJob } from "./job.js";
import { thisMachine } from "./machine.js";
import { scalingPage } from "./scaling/page.js";
import type { AllReduceReport } from "./scaling/two-ranks.js";
import { ask, OURS } from "./side.js";
import { median } from "./statistics.js";
import { makeWorkload, usualSizes } from "./workloads/workloads.js";

const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
const w2 = usualSizes("w2");
const { parameterCount } = makeWorkload(w2);
const gradientBytes = 4 * parameterCount;

const exchange = await askRanks<AllReduceReport>(2, "./two-ranks.js", String(gradientBytes));

const job: StepJob = { ...w2, precision: PRECISIONS[0], threads: 1, warmup: 3, steps: 30, seconds: 40 };
const choice = { engine: "ort", device: "cpu", threads: 1 } as const;
const report = await ask(OURS, job, { choice, python: "" });
const times = report.milliseconds.map((each) => each / 1000);
const middle = median(times);
const variance = times.reduce((sum, time) => sum + (time - middle) ** 2, 0) / times.length;

const page = scalingPage(
  {
    latencySeconds: exchange.oneNumberSeconds,
    bytesPerSecond: gradientBytes / exchange.seconds,
    w2: {
      parameters: parameterCount,
      gradientBytes,
      seconds: middle,
      deviation: Math.sqrt(variance) / middle,
    },
    flopsPerSecond: makeWorkload(w2).matrixFlops / middle,
  },
  thisMachine(),
  new Date().toISOString(),
  Object.entries(report.versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", "),
);
if (values.write) writeFileSync(new URL("../../docs/data-parallel-scaling.md", import.meta.url), page);
else console.log(page);
