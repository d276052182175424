/**
 * `node dist/kernels.js w1 mixed_bfloat16`: the time per kernel of a workload's step from TensorFlow's own trace, which
 * tfjs-node cannot request. Python runs the model that the backend wrote again, on values of the same shapes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadTfjsNode, tfjs } from "@mp/backend-tfjs";
import { precisions } from "./engine.js";
import { askProcess } from "./fresh-process.js";
import { PRECISIONS, type PrecisionName } from "./job.js";
import { observeTensorFlow } from "./observed-tensorflow.js";
import {
  displayName,
  makeWorkload,
  readWorkload,
  type SizedWorkload,
  WORKLOADS,
} from "./workloads/workloads.js";

interface Trace {
  readonly milliseconds: number;
  /** Times per kernel, the most expensive first. Kernels run in parallel, so their sum exceeds the time of the step. */
  readonly kernels: readonly { readonly op: string; readonly count: number; readonly milliseconds: number }[];
  readonly versions: Readonly<Record<string, string>>;
}

const TRACER = fileURLToPath(new URL("../peers/tensorflow_kernels.py", import.meta.url));

async function traceStep(workload: SizedWorkload, precision: PrecisionName): Promise<Trace> {
  const folder = mkdtempSync(join(tmpdir(), "mp-kernels-"));
  try {
    const observed = observeTensorFlow(await loadTfjsNode(), folder);
    const backend = await tfjs({ tf: observed.tf });
    const training = await makeWorkload(workload).train(backend, precisions[precision]());
    await training.step();
    const runs = observed.runs();
    await training.dispose();
    await backend.dispose();
    const job = { folder, runs, threads: availableParallelism(), steps: 20 };
    return await askProcess<Trace>(process.env["PEER_PYTHON"] ?? "python3", [TRACER, JSON.stringify(job)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const workload = readWorkload(process.argv[2] ?? "");
const precision = PRECISIONS.find((name) => name === (process.argv[3] ?? "float32"));
if (workload === undefined || precision === undefined) {
  console.error(`usage: node dist/kernels.js ${WORKLOADS.join("|")} [${PRECISIONS.join("|")}]`);
  process.exitCode = 2;
} else {
  const { milliseconds, kernels, versions } = await traceStep(workload, precision);
  console.log(
    `${displayName(workload)} ${precision}: ${milliseconds} ms a step, TensorFlow ${versions["tensorflow"]}`,
  );
  for (const { op, count, milliseconds: spent } of kernels.slice(0, 20)) {
    console.log(`${spent.toFixed(2).padStart(9)} ms ${String(count).padStart(5)} ${op}`);
  }
}
