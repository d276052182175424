/** The program of a fresh process. It does the one job in its argument, and prints the answer as its last line. */
import { MpError } from "@mp/core";
import { engineVersions, onEngine, precisions } from "./engine.js";
import type { ChildJob, OwnStepReport, ProfileReport, Refusal, ScenarioReport } from "./job.js";
import { profileOperators } from "./operator-profile.js";
import { watchOthers } from "./processor-load.js";
import { scenarioNamed } from "./scenarios/scenarios.js";
import { timeSteps } from "./time-steps.js";
import { makeWorkload } from "./workloads/workloads.js";

type StepsJob = Extract<ChildJob, { readonly kind: "steps" }>;
type ProfileJob = Extract<ChildJob, { readonly kind: "profile" }>;
type ScenarioJob = Extract<ChildJob, { readonly kind: "scenario" }>;

const runSteps = ({ job, choice }: StepsJob): Promise<OwnStepReport> => {
  const startedAt = performance.now();
  return onEngine(choice, async (backend) => {
    const workload = makeWorkload(job);
    const training = await workload.train(backend, precisions[job.precision]());
    const step = async (): Promise<number> => (await training.step()).loss / workload.lossDivisor;
    const report = await timeSteps(step, job, startedAt);
    await training.dispose();
    const { title, matrixFlops } = workload;
    return { ...report, title, matrixFlops, versions: engineVersions(backend) };
  });
};

const profile = ({ workload, precision, choice, quick }: ProfileJob): Promise<ProfileReport> =>
  onEngine(choice, async (backend) => {
    const support = backend.manifest.profile;
    if (support !== true) return support;
    const training = await makeWorkload(workload).train(backend, precisions[precision]());
    const counts = quick ? { warmup: 1, steps: 1 } : { warmup: 5, steps: 9 };
    const table = await profileOperators(training, counts);
    await training.dispose();
    return { table };
  });

const runScenario = ({ scenario, part, choice, quick }: ScenarioJob): Promise<ScenarioReport> =>
  onEngine(choice, async (backend) => {
    const others = watchOthers();
    const figures = await scenarioNamed(scenario).run({ backend, part, quick });
    return { figures, otherCores: others(), versions: engineVersions(backend) };
  });

const answers: {
  readonly [K in ChildJob["kind"]]: (job: Extract<ChildJob, { readonly kind: K }>) => Promise<unknown>;
} = {
  steps: runSteps,
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
