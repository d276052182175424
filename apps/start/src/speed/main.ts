/** Times training steps on an engine that computes halves natively, float32 and mixed precision in turns. */
import { openvino } from "@mp/backend-openvino";
import { xla } from "@mp/backend-xla";
import type { Backend } from "@mp/core";
import { compareSpeed } from "./compare-speed.js";

const ENGINES: Readonly<Record<string, () => Promise<Backend>>> = {
  openvino: () => openvino(),
  xla: () => xla({ device: "cuda" }),
};

const SIZES = { embedding: 64, hidden: 2048, batch: 1024 };
const SECONDS = 10;

const [engine = ""] = process.argv.slice(2);
const open = ENGINES[engine];
if (open === undefined)
  throw new RangeError(`the engine must be ${Object.keys(ENGINES).join(" or ")}, got "${engine}"`);
const backend = await open();
console.log(await compareSpeed(backend, SIZES, SECONDS));
await backend.dispose();
