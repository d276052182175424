/** Runs one step of a workload at its usual size and prints the loss: `node dist/step.js w1 mixed_float16 ort`. */
import { openEngine, precisions } from "./engine.js";
import { ENGINES, PRECISIONS } from "./job.js";
import { makeWorkload, readWorkload, WORKLOADS } from "./workloads/workloads.js";

const [word = "", precisionName, engineName] = process.argv.slice(2);
const sized = readWorkload(word);
const precision = PRECISIONS.find((name) => name === precisionName);
const engine = ENGINES.find((name) => name === engineName);
if (sized === undefined || precision === undefined || engine === undefined)
  throw new RangeError(
    `step: expected a workload (${WORKLOADS.join(", ")}), a precision (${PRECISIONS.join(", ")}) and an engine (${ENGINES.join(", ")}), got ${process.argv.slice(2).join(" ")}`,
  );
const backend = await openEngine({ engine, threads: 2, device: "cpu" });
const training = await makeWorkload(sized).train(backend, precisions[precision]());
console.log((await training.step()).loss);
await training.dispose();
await backend.dispose();
