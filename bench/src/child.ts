/** The fresh process: does the one job in its argument and prints the answer as its last line. */
import { openEngine, precisionOf, versionsOf } from "./engine.js";
import type { ChildJob, Refusal, ScenarioReport, StepReport } from "./job.js";
import { watchOthers } from "./processor-load.js";
import { scenarioNamed } from "./scenarios/scenarios.js";
import { rounded } from "./statistics.js";
import { timedSteps } from "./timed-steps.js";
import { workloadOf } from "./workloads/workloads.js";

type StepsJob = Extract<ChildJob, { readonly kind: "steps" }>;
type ScenarioJob = Extract<ChildJob, { readonly kind: "scenario" }>;

async function timeSteps({ job, choice }: StepsJob): Promise<StepReport> {
  const startedAt = performance.now();
  const backend = await openEngine(choice);
  try {
    const workload = workloadOf(job.workload);
    const training = await workload.train(backend, precisionOf(job.precision));
    const step = async (): Promise<number> => (await training.step()).loss / workload.lossDivisor;
    const report = await timedSteps(step, job, startedAt);
    await training.dispose();
    return { ...report, versions: versionsOf(backend) };
  } finally {
    await backend.dispose();
  }
}

async function runScenario(job: ScenarioJob): Promise<ScenarioReport> {
  const backend = await openEngine(job.choice);
  try {
    const others = watchOthers();
    const outcome = await scenarioNamed(job.scenario).run({ backend, part: job.part, quick: job.quick });
    const cores = others();
    return {
      ...outcome,
      otherCores: cores === null ? null : rounded(cores, 2),
      versions: versionsOf(backend),
    };
  } finally {
    await backend.dispose();
  }
}

async function answer(text: string | undefined): Promise<StepReport | ScenarioReport | Refusal> {
  try {
    const job = JSON.parse(text ?? "") as ChildJob;
    return job.kind === "steps" ? await timeSteps(job) : await runScenario(job);
  } catch (error) {
    process.exitCode = 1;
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

console.log(JSON.stringify(await answer(process.argv[2])));
