// Saves without end, and says after each save which step it was. argv: path, first step, saves (0: no end).
import { writeSync } from "node:fs";
import { saveTensors } from "../../dist/checkpoint.js";

const [path, first, saves] = process.argv.slice(2);
const elements = 500_000;
for (let step = Number(first), left = Number(saves); ; step++) {
  const tensors = {
    "layer/kernel": { dtype: "f32", shape: [elements], data: new Float32Array(elements).fill(step) },
    "layer/kernel16": { dtype: "bf16", shape: [elements], data: new Uint16Array(elements).fill(step) },
    step: { dtype: "i64", shape: [], data: BigInt64Array.of(BigInt(step)) },
  };
  await saveTensors(path, tensors, { step: String(step) });
  // Synchronous, so that a kill cannot fall between the save and the pipe's buffer.
  writeSync(1, `${step}\n`);
  if (--left === 0) break;
}
