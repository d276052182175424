/**
 * Trains two apps with every recipe over three seeds, and prints the loss on held-out text as a table: `node
 * bench/dist/recipes.js FOLDER`. Results that are in the folder are not computed again. The table is in docs/recipes.md.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunResult } from "@mp/cli";
import { differences, moments, signedSpread, spread } from "@mp/cli/training";
import { thisMachine } from "./machine.js";
import { markdownTable } from "./markdown-table.js";

const PRECISIONS = ["float32", "mixed_bfloat16", "float8", "mxfp8", "nvfp4", "mxfp4"] as const;
const SEEDS = [42, 43, 44];
const APPS = {
  bert: "--layers 2 --size 64 --heads 2 --sequence 16 --batch 8 --vocab 1000 --learning-rate 0.003",
  "word-lm": "--cells 64 --sequence 8 --batch 16 --vocab 1000 --learning-rate 2 --decay 0.5",
};

const folder = process.argv[2];
if (folder === undefined || !existsSync(folder)) {
  console.error("recipes: expected a folder for the results");
  process.exit(2);
}

function train(app: string, flags: string, precision: string, seed: number): RunResult {
  const path = join(folder as string, `${app}-${precision}-${seed}.json`);
  const main = fileURLToPath(new URL(`../../apps/${app}/dist/main.js`, import.meta.url));
  const own = ["--precision", precision, "--seed", String(seed), "--steps", "300", "--json", path];
  if (!existsSync(path))
    spawnSync(process.execPath, [main, ...flags.split(" "), ...own], { stdio: "inherit" });
  return JSON.parse(readFileSync(path, "utf8"));
}

const show = (value: number): string => value.toFixed(4);
const operandSize = (run: RunResult | undefined): string =>
  (Number(run?.details?.["operandBytes"]) / 1024).toFixed(0);
const { processor, cores } = thisMachine();
for (const [app, flags] of Object.entries(APPS)) {
  const runs = PRECISIONS.map((precision) => SEEDS.map((seed) => train(app, flags, precision, seed)));
  const firsts = runs.map(([first]) => first as RunResult);
  const losses = runs.map((own) => own.map(({ metric }) => Math.log(metric.value)));
  const [base = []] = losses;
  const rows = PRECISIONS.map((precision, index) => {
    const own = losses[index] as readonly number[];
    const change = differences(own, base);
    const isWorse = moments(change).mean > 2 * moments(base).deviation;
    const against = index === 0 ? ["", ""] : [signedSpread(change, show), isWorse ? "worse" : "yes"];
    return [precision, spread(own, show), ...against, operandSize(firsts[index])];
  });
  const { name, version } = (firsts[0] as RunResult).engine;
  console.log(`\n\`${app} ${flags} --steps 300\`, ${name} ${version}, ${processor}, ${cores} cores\n`);
  const within = "within twice float32's spread";
  console.log(
    markdownTable([app, "loss on held-out text", "against float32", within, "operands, KiB"], rows),
  );
}
