import { fileURLToPath } from "node:url";
import { HELP, parseCommandLine, UsageError } from "./command-line.js";
import { compareWorkload, formatRun, formatWorkload, type WorkloadResult } from "./compare.js";
import { compileFor } from "./compile-for.js";
import { dissect, formatScenario, type ScenarioResult } from "./dissect.js";
import { ProcessFailed } from "./fresh-process.js";
import { thisMachine } from "./machine.js";
import { writeBenchResult } from "./result-file.js";
import { displayName } from "./workloads/workloads.js";

const RESULTS = fileURLToPath(new URL("../results", import.meta.url));

async function bench(argv: readonly string[]): Promise<void> {
  const python = process.env["PEER_PYTHON"] ?? "python3";
  const options = parseCommandLine(argv, { python, results: RESULTS });
  if (options === undefined) {
    console.log(HELP);
    return;
  }
  const date = new Date().toISOString();
  const machine = thisMachine();
  const { processor, cores, memoryGigabytes, node } = machine;
  console.log(`${processor}, ${cores} cores, ${memoryGigabytes} GB, node ${node}`);
  const command = `npm run bench -- ${withoutPaths(argv).join(" ")}`;
  if (options.target !== undefined) {
    const compiled = await compileFor(options.target, options);
    const parts = [
      "compile",
      options.target,
      ...options.workloads.map(displayName),
      compiled.at(-1)?.precision,
    ];
    const path = writeBenchResult(options.results, fileName(parts), { date, command, machine, compiled });
    console.log(`\nwritten to ${path}`);
    return;
  }
  const workloads: WorkloadResult[] = [];
  const scenarios: ScenarioResult[] = [];
  for (const workload of options.workloads) {
    const result = await compareWorkload(workload, options, (run) => console.error(formatRun(run)));
    console.log(`\n${formatWorkload(result)}`);
    workloads.push(result);
  }
  for (const name of options.scenarios) {
    const result = await dissect(name, options);
    console.log(`\n${formatScenario(result)}`);
    scenarios.push(result);
  }
  if (options.quick) {
    console.log("\n--quick: these figures mean nothing and were not written");
    return;
  }
  const parts = [...options.workloads.map(displayName), ...options.scenarios];
  parts.push(options.choice.engine);
  if (options.workloads.length > 0) parts.push(options.precision);
  parts.push(...options.against);
  const path = writeBenchResult(options.results, fileName(parts), {
    date,
    command,
    machine,
    workloads,
    scenarios,
  });
  console.log(`\nwritten to ${path}`);
}

const fileName = (parts: readonly (string | undefined)[]): string =>
  parts.join("-").replaceAll(/[:=,]/g, "-");

/** The command line without paths: a result says how it was made, but not where files are on the user's disk. */
function withoutPaths(argv: readonly string[]): readonly string[] {
  return argv.map((word, index) => {
    const isPath = ["--python", "--results"].includes(argv[index - 1] ?? "");
    return isPath ? "PATH" : word.replace(/^(--python|--results)=.*/, "$1=PATH");
  });
}

try {
  await bench(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError || error instanceof ProcessFailed || error instanceof RangeError))
    throw error;
  console.error(`bench: ${error.message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
