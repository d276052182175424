import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ort } from "@mp/backend-ort";
import { progressDisplay } from "@mp/callbacks";
import { float32, key } from "@mp/core";
import { precisionReportPage } from "@mp/report";
import { formatConclusion, formatTable } from "./conclusion.js";
import { network, PRECISIONS, type Trained, train } from "./fine-tune.js";
import { readTexts } from "./text.js";

const OPTIONS = {
  pretraining: {
    type: "string",
    default: "700",
    help: "steps that the network first learns prose, in float32",
  },
  steps: { type: "string", default: "600", help: "steps that it then learns programs, in each precision" },
  "learning-rate": { type: "string", default: "5e-5", help: "of AdamW, while it learns programs" },
  report: { type: "string", default: "start.html", help: "the page to write" },
  help: { type: "boolean", default: false, help: "show this" },
} as const;

const PRETRAINING_RATE = 3e-3;
const SEED = 42;

/** @throws RangeError for a text that is not a number above 0 */
function positive(flag: "pretraining" | "steps" | "learning-rate", isWhole: boolean): number {
  const value = Number(flags[flag]);
  if (value > 0 && Number.isFinite(value) && (!isWhole || Number.isInteger(value))) return value;
  throw new RangeError(
    `--${flag} must be ${isWhole ? "an integer" : "a number"} above 0, got ${flags[flag]}`,
  );
}

const { values: flags } = parseArgs({ options: OPTIONS });
if (flags.help) {
  console.log(
    "npm start -- [flags]: fine-tunes a small network in float32, mixed precision and float16 alone",
  );
  for (const [flag, option] of Object.entries(OPTIONS))
    console.log(`  --${flag.padEnd(16)}${option.help}; default ${option.default}`);
} else {
  await compare();
}

async function compare(): Promise<void> {
  const steps = positive("steps", true);
  const pretraining = positive("pretraining", true);
  const learningRate = positive("learning-rate", false);
  const { prose, programs } = readTexts();
  // The network is small: a second thread would mostly wait.
  const backend = await ort({ threads: 1 });
  const run = (
    label: string,
    total: number,
    options: Omit<Parameters<typeof train>[0], "backend" | "progress" | "steps">,
  ) => train({ ...options, backend, steps: total, progress: progressDisplay({ label, total }) });

  console.log(`A small network has read this repository's documentation and predicts the next character of it. Now it
reads the programs, by small steps, as one fine-tunes: three times from the same weights, on the same batches.\n`);
  const { params } = await run("learns prose", pretraining, {
    params: network.init(key(SEED)),
    precision: float32(),
    text: prose,
    learningRate: PRETRAINING_RATE,
  });
  const runs: Record<string, Trained> = {};
  for (const [name, precision] of Object.entries(PRECISIONS))
    runs[name] = await run(name, steps, { params, precision, text: programs, learningRate });
  const [inFloat32, mixed, float16] = Object.values(runs) as [Trained, Trained, Trained];

  const conclusion = formatConclusion(inFloat32, mixed, float16);
  console.log(`\n${formatTable(runs)}\n\n${conclusion}`);
  console.log(
    "\nWhere updates are large, float16 alone ends as the others do: npm start -- --learning-rate 1e-3",
  );
  const path = resolve(flags.report);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    precisionReportPage({
      title: "npm start",
      report: mixed.report,
      compared: Object.fromEntries(Object.entries(runs).map(([name, { history }]) => [name, history])),
      results: Object.fromEntries(
        Object.entries(runs).map(([name, { after }]) => [`loss, ${name}`, after.toFixed(3)]),
      ),
      facts: { "learning rate": String(learningRate), seed: String(SEED) },
    }),
  );
  console.log(`\nThe three curves, and what float16 does to each tensor: ${path}`);
  await backend.dispose();
}
