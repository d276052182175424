// Saves without end, and says after each save which step it was. argv: path, first step, saves (0: no end).
import { writeSync } from "node:fs";
import { saveFile } from "../../dist/file.js";

const [path, first, saves] = process.argv.slice(2);
const elements = 500_000;
for (let step = Number(first), left = Number(saves); ; step++) {
  const tensors = {
    "layer/kernel": { dtype: "F32", shape: [elements], data: new Float32Array(elements).fill(step) },
    "layer/kernel16": { dtype: "BF16", shape: [elements], data: new Uint16Array(elements).fill(step) },
    step: { dtype: "I64", shape: [], data: BigInt64Array.of(BigInt(step)) },
  };
  await saveFile(path, tensors, { step: String(step) });
  // Synchronous, so that a kill cannot fall between the save and the pipe's buffer.
  writeSync(1, `${step}\n`);
  if (--left === 0) break;
}
