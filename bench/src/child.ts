/** The fresh process: does the one job in its argument and prints the answer as its last line. */
import { MpError } from "@mp/core";
import { openEngine, precisionOf, versionsOf } from "./engine.js";
import type { ChildJob, OwnStepReport, ProfileReport, Refusal, ScenarioReport } from "./job.js";
import { profiledOperators } from "./operator-profile.js";
import { watchOthers } from "./processor-load.js";
import { scenarioNamed } from "./scenarios/scenarios.js";
import { rounded } from "./statistics.js";
import { timedSteps } from "./timed-steps.js";
import { workloadOf } from "./workloads/workloads.js";

type StepsJob = Extract<ChildJob, { readonly kind: "steps" }>;
type ProfileJob = Extract<ChildJob, { readonly kind: "profile" }>;
type ScenarioJob = Extract<ChildJob, { readonly kind: "scenario" }>;

async function timeSteps({ job, choice }: StepsJob): Promise<OwnStepReport> {
  const startedAt = performance.now();
  const backend = await openEngine(choice);
  try {
    const workload = workloadOf(job);
    const training = await workload.train(backend, precisionOf(job.precision));
    const step = async (): Promise<number> => (await training.step()).loss / workload.lossDivisor;
    const report = await timedSteps(step, job, startedAt);
    await training.dispose();
    const { title, matrixFlops } = workload;
    return { ...report, title, matrixFlops, versions: versionsOf(backend) };
  } finally {
    await backend.dispose();
  }
}

async function profile({ workload, precision, choice, quick }: ProfileJob): Promise<ProfileReport> {
  const backend = await openEngine(choice);
  try {
    const support = backend.manifest.profile;
    if (support !== true) return support;
    const training = await workloadOf(workload).train(backend, precisionOf(precision));
    const table = await profiledOperators(
      training,
      quick ? { warmup: 1, steps: 1 } : { warmup: 5, steps: 9 },
    );
    await training.dispose();
    return { table };
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

const answers: {
  readonly [K in ChildJob["kind"]]: (job: Extract<ChildJob, { readonly kind: K }>) => Promise<unknown>;
} = {
  steps: timeSteps,
  profile,
  scenario: runScenario,
};

async function answer(text: string | undefined): Promise<unknown> {
  try {
    const job = JSON.parse(text ?? "") as ChildJob;
    return await answers[job.kind](job as never);
  } catch (error) {
    process.exitCode = 1;
    const refusal: Refusal = { error: error instanceof Error ? error.message : String(error) };
    return MpError.is(error) ? { ...refusal, code: error.code } : refusal;
  }
}

console.log(JSON.stringify(await answer(process.argv[2])));
